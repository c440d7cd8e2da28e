"""Cases (b) and (c): self-registration, side channels, ranks over nodes, headless processes."""

from __future__ import annotations

import json
from typing import Any

from inferlane.planning import bind
from inferlane.running.readiness.judge import judge_http
from inferlane.testing.plans import assert_ports_disjoint, option
from inferlane.values import HttpCheck, LogCheck, PlannedProcess, Reply


def extra(process: PlannedProcess) -> dict[str, Any]:
    """What the connector of ``process`` is told."""
    config: dict[str, Any] = json.loads(option(process, "--kv-transfer-config"))["kv_connector_extra_config"]
    return config


def test_each_worker_on_a_shared_node_gets_its_own_block_as_wide_as_its_devices(plan: Any, cases: Any) -> None:
    made = plan(cases.moriio())
    prefill, decode = extra(made.process("prefill-0")), extra(made.process("decode-0"))
    assert (prefill["handshake_port"], decode["handshake_port"]) == ("26000", "26004")
    assert (prefill["notify_port"], decode["notify_port"]) == ("27000", "27004")
    assert_ports_disjoint(made)


def test_devices_travel_as_an_argument_and_then_no_mask_is_set(plan: Any, cases: Any) -> None:
    made = plan(cases.moriio())
    assert option(made.process("prefill-0"), "--device-ids") == "0,1,2,3"
    assert option(made.process("decode-0"), "--device-ids") == "4,5,6,7"
    assert made.process("decode-0").slot_env == ()


def test_a_switch_of_the_engine_turns_the_argument_into_a_mask(plan: Any, cases: Any) -> None:
    decode = plan(cases.moriio(set_visible_devices=True)).process("decode-0")
    assert "--device-ids" not in decode.args
    assert decode.slot_env == ({"ROCR_VISIBLE_DEVICES": "{n0.gpu4},{n0.gpu5},{n0.gpu6},{n0.gpu7}"},)
    assert {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} <= set(decode.unset)


def test_a_worker_that_registers_itself_is_told_where_the_router_listens(plan: Any, cases: Any) -> None:
    made = plan(cases.moriio())
    port = made.process("case-vllm-router").ports["discovery"].first
    told = extra(made.process("decode-0"))
    assert (told["proxy_ip"], told["proxy_ping_port"]) == ("{n0.ip}", str(port))
    assert f"{{n0.bind}}:{port}" in made.process("case-vllm-router").args


def test_a_router_that_discovers_its_workers_is_given_no_urls(plan: Any, cases: Any) -> None:
    args = plan(cases.moriio()).process("case-vllm-router").args
    assert not [word for word in args if word.startswith("http://")]


def test_a_plugin_removes_a_variable_whatever_the_recipe_inherits(plan: Any, cases: Any) -> None:
    assert "VLLM_PORT" in plan(cases.moriio()).process("prefill-0").unset


def test_registrations_are_awaited_by_name_in_the_routers_log(plan: Any, cases: Any) -> None:
    gate = plan(cases.moriio()).gates[-1]
    health, prefill, decode = gate.checks
    assert isinstance(health, HttpCheck)
    assert isinstance(prefill, LogCheck)
    assert isinstance(decode, LogCheck)
    assert (prefill.process, prefill.values) == ("case-vllm-router", ("{n0.host}:6100",))
    assert decode.values == ("{n0.host}:6101",)
    assert decode.gone is not None


def test_workers_that_register_themselves_may_come_up_after_the_router(plan: Any, cases: Any) -> None:
    healthy = [gate.before for gate in plan(cases.moriio()).gates if gate.name.endswith("is healthy")]
    assert healthy == ["traffic", "traffic"]


def test_another_connector_is_another_protocol_with_urls_and_side_channel_ports(plan: Any, cases: Any) -> None:
    made = plan(cases.nixl())
    router = made.process("case-vllm-router")
    start = router.args.index("--prefill")
    assert made.protocol == "case-vllm-pd-nixl"
    assert router.args[start : start + 5] == (
        "--prefill",
        "http://{n0.host}:6100",
        "5400",
        "--decode",
        "http://{n1.host}:6100",
    )
    assert made.process("prefill-0").env["VLLM_NIXL_SIDE_CHANNEL_PORT"] == "5400"


def test_an_engine_and_a_router_without_a_common_protocol_are_refused_with_both_lists(refusal: Any, cases: Any) -> None:
    block = cases.moriio()
    block["engine"] = "case-atom"
    for role in block["roles"].values():
        role["args"] = {}
    [problem] = refusal(block)
    assert problem.where == "frontend.type"
    assert "case-vllm-pd-moriio for prefill+decode" in problem.message
    assert "case-atom (case-atom-pd/openai)" in problem.message


def test_every_node_of_a_worker_with_ranks_on_each_takes_requests(plan: Any, cases: Any) -> None:
    made = plan(cases.over_nodes(**{"data-parallel-size": 16}))
    assert [(up.process, up.ranks) for up in made.upstreams] == [("agg-0-0", 8), ("agg-0-1", 8)]
    assert [gate.name for gate in made.gates[:2]] == ["agg-0-0 is healthy", "agg-0-1 is healthy"]


def test_ranks_start_where_those_of_the_node_before_end(plan: Any, cases: Any) -> None:
    made = plan(cases.over_nodes(gpus_per_node=4, **{"data-parallel-size": 8}))
    starts = [option(made.process(f"agg-0-{node}"), "--data-parallel-start-rank") for node in (0, 1)]
    assert starts == ["0", "4"]


def test_all_processes_of_a_worker_are_told_one_meeting_port_on_its_first_node(plan: Any, cases: Any) -> None:
    made = plan(cases.over_nodes(**{"data-parallel-size": 16}))
    first, second = made.process("agg-0-0"), made.process("agg-0-1")
    assert option(first, "--data-parallel-rpc-port") == option(second, "--data-parallel-rpc-port")
    assert option(second, "--data-parallel-address") == "{n0.ip}"
    assert (first.ports["dp_rpc"].held, second.ports["dp_rpc"].held) == (True, False)


def test_the_router_is_told_the_ranks_of_one_node_and_awaited_with_all_of_them(plan: Any, cases: Any) -> None:
    made = plan(cases.over_nodes(**{"data-parallel-size": 16}))
    assert option(made.process("case-vllm-router"), "--intra-node-data-parallel-size") == "8"
    check = made.gates[-1].checks[0]
    assert isinstance(check, HttpCheck)
    assert check.rows is not None
    assert check.rows.at_least == 16


def test_one_model_copy_over_nodes_serves_on_the_first_and_is_headless_elsewhere(plan: Any, cases: Any) -> None:
    made = plan(cases.over_nodes(**{"tensor-parallel-size": 16}))
    second = made.process("agg-0-1")
    assert "--headless" in second.args
    assert "--port" not in second.args
    assert [up.process for up in made.upstreams] == ["agg-0-0"]
    assert [gate.name for gate in made.gates if gate.name.endswith("is healthy")] == ["agg-0-0 is healthy"]


def test_parallel_sizes_that_do_not_fill_the_worker_are_refused_with_the_sum(refusal: Any, cases: Any) -> None:
    [problem] = refusal(cases.over_nodes(**{"data-parallel-size": 4}))
    assert problem.where == "roles.agg.args"
    assert problem.message == "data 4 x tensor and pipeline 1 = 4 GPUs, but each worker has 16"


def test_an_argument_that_the_plan_sets_is_refused_in_either_spelling(refusal: Any, cases: Any) -> None:
    block = cases.moriio()
    block["roles"]["prefill"]["args"] = {"tensor-parallel-size": 4, "host": "0.0.0.0", "device_ids": "0"}
    assert {problem.where for problem in refusal(block)} == {
        "roles.prefill.args.host",
        "roles.prefill.args.device_ids",
    }


def test_an_argument_is_owned_only_in_the_shape_that_sets_it(plan: Any, refusal: Any, cases: Any) -> None:
    block = cases.over_nodes(**{"data-parallel-size": 16, "data-parallel-size-local": 8})
    assert [problem.where for problem in refusal(block)] == ["roles.agg.args.data-parallel-size-local"]
    single = cases.over_nodes(nodes=1, **{"tensor-parallel-size": 8, "data-parallel-size-local": 1})
    assert option(plan(single).process("agg-0"), "--data-parallel-size-local") == "1"


def test_a_missing_upstream_is_named_by_its_bound_url(plan: Any, cases: Any) -> None:
    made = bind(plan(cases.atom(workers=1, gpus=8)), {"n0.host": "192.0.2.7"})
    check = made.gates[-1].checks[-1]
    assert isinstance(check, HttpCheck)
    body = json.dumps({"workers": [{"url": "http://192.0.2.9:6101", "worker_type": "decode"}]})
    assert judge_http(check, Reply(status=200, body=body)).missing == ("http://192.0.2.7:6101",)
