"""Engine ``sglang``: ports, arguments and environment of its workers, as they come out of a plan."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from inferlane.planning import Shape
from inferlane.testing.plans import assert_ports_disjoint, held_ports, option, plan_of, problems_of, recipe_block

RANKS = {"tp-size": 8, "dp-size": 8, "enable-dp-attention": True}


def disaggregated(args: dict[str, Any], router: dict[str, Any] | None = None, **role: Any) -> dict[str, Any]:
    """Two prefill workers and one decode worker, a node each."""
    block = {"gpus": 8, "args": args, **role}
    roles = {"prefill": {"nodes": 2, "workers": 2, **block}, "decode": {"nodes": 1, **block}}
    return recipe_block("sglang", {"type": "sglang-router", **(router or {})}, roles)


def aggregated(nodes: int = 1, router: str = "sglang-router", **role: Any) -> dict[str, Any]:
    return recipe_block("sglang", router, {"agg": {"nodes": nodes, **role}})


def test_a_worker_on_one_node_is_told_model_address_and_ports() -> None:
    worker = plan_of(aggregated(workers=1, gpus=1)).process("agg-0")
    assert worker.program == ("python3", "-m", "sglang.launch_server")
    assert option(worker, "--model-path") == "Qwen/Qwen3-0.6B"
    assert option(worker, "--host") == "{n0.bind}"
    assert option(worker, "--port") == str(worker.ports["http"].first)
    assert option(worker, "--nccl-port") == str(worker.ports["nccl"].first)


def test_workers_of_one_node_never_share_a_number() -> None:
    plan = plan_of(aggregated(workers=4, gpus=2, args={"tp-size": 2}))
    assert [plan.process(f"agg-{index}").ports["nccl"].first for index in range(4)] == [17500, 17501, 17502, 17503]
    assert_ports_disjoint(plan)


def test_a_worker_over_two_nodes_meets_at_its_leader() -> None:
    plan = plan_of(aggregated(nodes=2, workers=1, args={"tp-size": 16}))
    first, second = plan.process("agg-0-0"), plan.process("agg-0-1")
    assert option(first, "--dist-init-addr") == option(second, "--dist-init-addr") == "{n0.host}:8300"
    assert (option(second, "--nnodes"), option(second, "--node-rank")) == ("2", "1")
    assert [up.process for up in plan.upstreams] == ["agg-0-0"]


def test_the_meeting_block_holds_what_data_parallel_attention_derives_from_it() -> None:
    assert plan_of(aggregated(workers=1, gpus=8, args=RANKS)).process("agg-0").ports["dist_init"].width == 6 + 8


def test_a_worker_without_it_on_one_node_needs_no_meeting_port() -> None:
    worker = plan_of(aggregated(workers=1, gpus=8, args={"tp-size": 8})).process("agg-0")
    assert "--dist-init-addr" not in worker.args


def test_each_role_is_told_its_mode_and_prefill_its_bootstrap_port() -> None:
    plan = plan_of(disaggregated({"tp-size": 8}))
    assert option(plan.process("prefill-0"), "--disaggregation-mode") == "prefill"
    assert option(plan.process("decode-0"), "--disaggregation-mode") == "decode"
    assert option(plan.process("prefill-1"), "--disaggregation-bootstrap-port") == "7200"
    assert "--disaggregation-bootstrap-port" not in plan.process("decode-0").args


def test_all_nodes_of_a_prefill_worker_are_told_one_bootstrap_port() -> None:
    recipe = disaggregated({"tp-size": 16})
    recipe["roles"]["prefill"] |= {"workers": 1, "gpus": 16}
    recipe["roles"]["decode"] |= {"nodes": 2, "gpus": 16}
    plan = plan_of(recipe)
    ports = {option(plan.process(f"prefill-0-{node}"), "--disaggregation-bootstrap-port") for node in (0, 1)}
    assert ports == {"7200"}
    assert not plan.process("prefill-0-1").ports["bootstrap"].held


def test_no_port_twice_per_node_none_ephemeral_and_a_bootstrap_port_for_each_prefill_worker() -> None:
    args = {"tp-size": 4, "dp-size": 4, "enable-dp-attention": True}
    roles = {
        "prefill": {"nodes": 1, "workers": 2, "gpus": 4, "args": args, "kv_events": True},
        "decode": {"nodes": 1, "workers": 1, "gpus": 8, "args": RANKS},
    }
    recipe = recipe_block("sglang", "sglang-router", roles, telemetry={"enabled": True})
    plan = plan_of(recipe | {"benchmark": {"type": "custom", "command": "true"}})
    held = [(node, number) for node, number, _ in held_ports(plan)]
    assert [place for place, times in Counter(held).items() if times > 1] == []
    assert [number for _, number in held if 32768 <= number <= 60999] == []
    bootstrap = [plan.process(f"prefill-{index}").ports["bootstrap"].first for index in (0, 1)]
    router = plan.process("sglang-router").args
    assert bootstrap == [7200, 7201]
    assert [router[at + 2] for at, word in enumerate(router) if word == "--prefill"] == ["7200", "7201"]


def test_a_port_that_another_program_holds_moves_everywhere_it_is_told() -> None:
    plan = plan_of(disaggregated({"tp-size": 8}), shape=Shape(in_use={"n0": (7200, 6100)}))
    assert option(plan.process("prefill-0"), "--disaggregation-bootstrap-port") == "7201"
    start = plan.process("sglang-router").args.index("--prefill")
    assert plan.process("sglang-router").args[start + 1 : start + 3] == ("http://{n0.host}:6101", "7201")


@pytest.mark.parametrize("spelling", ["dp-aware", "dp_aware"])
def test_with_a_router_that_addresses_ranks_both_roles_ask_prefill_for_the_rank(spelling: str) -> None:
    plan = plan_of(disaggregated(RANKS, {"args": {spelling: True}}))
    for name in ("prefill-0", "decode-0"):
        assert plan.process(name).env["SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK"] == "1"
    assert "--dp-aware" in plan.process("sglang-router").args


def test_without_such_a_router_or_without_ranks_nobody_asks() -> None:
    name = "SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK"
    assert name not in plan_of(disaggregated(RANKS)).process("decode-0").env
    assert name not in plan_of(disaggregated({"tp-size": 8}, {"args": {"dp-aware": True}})).process("decode-0").env


def test_cache_events_get_a_port_for_each_rank_and_an_endpoint_that_the_engine_binds() -> None:
    worker = plan_of(aggregated(workers=1, gpus=8, args=RANKS, kv_events=True)).process("agg-0")
    config = json.loads(option(worker, "--kv-events-config"))
    assert config == {"publisher": "zmq", "topic": "kv-events", "endpoint": "tcp://*:5200"}
    assert worker.ports["kv_events"].width == 8


def test_cache_events_of_the_engine_block_may_name_roles_and_a_topic() -> None:
    recipe = disaggregated({"tp-size": 8})
    recipe["engine"] = {"type": "sglang", "kv_events": {"prefill": {"topic": "mine"}}}
    plan = plan_of(recipe)
    assert json.loads(option(plan.process("prefill-0"), "--kv-events-config"))["topic"] == "mine"
    assert "--kv-events-config" not in plan.process("decode-0").args


@pytest.mark.parametrize(
    ("args", "gpus", "message"),
    [
        ({"tp_size": 4, "dp-size": 4}, 8, "tensor 4 x pipeline 1 x data 4 = 16 GPUs, but each worker has 8"),
        ({"tp": 8, "dp": 8, "enable_dp_attention": True, "pp-size": 2}, 8, "tensor 8 x pipeline 2 = 16 GPUs"),
        ({"tp-size": 8, "ep-size": 3}, 8, "an expert parallel size of 3 does not divide a tensor parallel size of 8"),
        ({"tp-size": 8, "dp-size": 3, "enable-dp-attention": True}, 8, "3 data parallel ranks do not divide"),
        ({"tp-size": "all"}, 8, "the tensor parallel size must be a positive whole number, not 'all'"),
    ],
)
def test_parallel_sizes_that_no_worker_could_start_with_are_refused(
    args: dict[str, Any], gpus: int, message: str
) -> None:
    [problem] = problems_of(aggregated(workers=1, gpus=gpus, args=args))
    assert problem.where.startswith("roles.agg.args")
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    "args", [{"tensor-parallel-size": 8}, {"tp": "8"}, RANKS, {"tp-size": 4, "data-parallel-size": 2}]
)
def test_every_spelling_and_split_that_fills_a_worker_is_taken(args: dict[str, Any]) -> None:
    assert plan_of(aggregated(workers=1, gpus=8, args=args)).process("agg-0")


@pytest.mark.parametrize(
    "key",
    ["model-path", "model_path", "host", "port", "nccl-port", "dist_init_addr", "nnodes", "node-rank", "base-gpu-id"],
)
def test_an_argument_that_the_plan_owns_is_refused_at_its_own_line(key: str) -> None:
    [problem] = problems_of(aggregated(workers=1, gpus=1, args={key: "1"}))
    assert problem.where == f"roles.agg.args.{key}"
    assert "the plan sets --" in problem.message


@pytest.mark.parametrize("key", ["disaggregation-mode", "disaggregation_mode"])
def test_a_mode_that_repeats_the_role_is_fine_and_another_is_refused(key: str) -> None:
    recipe = disaggregated({"tp-size": 8})
    recipe["roles"]["decode"]["args"] = {"tp-size": 8, key: "decode"}
    decode = plan_of(recipe).process("decode-0")
    assert decode.args.count("--disaggregation-mode") == 1
    recipe["roles"]["decode"]["args"] = {"tp-size": 8, key: "prefill"}
    assert [problem.where for problem in problems_of(recipe)] == [f"roles.decode.args.{key}"]


def test_the_served_name_is_the_recipes_or_the_last_part_of_the_models() -> None:
    assert plan_of(aggregated(workers=1, gpus=1)).served_model_name == "Qwen3-0.6B"
    named = plan_of(aggregated(workers=1, gpus=1, args={"served_model_name": "mine"}))
    assert named.served_model_name == "mine"
    assert named.process("agg-0").args.count("--served-model-name") == 1


def test_metrics_are_on_unless_the_recipe_turns_them_off_and_tell_who_served() -> None:
    on, off = (plan_of(aggregated(workers=1, gpus=1, args=args)) for args in ({}, {"enable-metrics": False}))
    assert "--enable-metrics" in on.process("agg-0").args
    assert on.upstreams[0].served is not None
    assert "--enable-metrics" not in off.process("agg-0").args
    assert off.upstreams[0].served is None


def test_a_recipe_may_change_what_is_only_a_default() -> None:
    env = {"SGLANG_PYSPY_DUMP_BEFORE_CRASH": "1"}
    assert plan_of(aggregated(workers=1, gpus=1)).process("agg-0").env["SGLANG_PYSPY_DUMP_BEFORE_CRASH"] == "0"
    assert plan_of(aggregated(workers=1, gpus=1, env=env)).process("agg-0").env["SGLANG_PYSPY_DUMP_BEFORE_CRASH"] == "1"


def test_workers_that_speak_grpc_are_refused_by_name() -> None:
    [problem] = problems_of(aggregated(workers=1, gpus=1, args={"grpc-mode": True}))
    assert problem.where == "roles.agg.args.grpc-mode"
