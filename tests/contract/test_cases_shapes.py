"""Cases (f), (i) and the shapes nobody listed: MPI steps, sidecars, rank servers, proxies, mixed engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inferlane.errors import PluginFault
from inferlane.planning import bind
from inferlane.plugins import Plugins
from inferlane.testing.plans import option, plan_of
from inferlane.values import HttpCheck, PluginCheck, Reply, TcpCheck


def test_a_step_over_all_nodes_of_a_worker_is_one_process(plan: Any, cases: Any) -> None:
    made = plan(cases.trtllm())
    worker = made.process("prefill-0")
    assert [p.name for p in made.processes if p.kind == "worker"] == ["prefill-0", "decode-0"]
    assert [slot.node.name for slot in worker.slots] == ["n0", "n1"]
    assert worker.mpi is not None


def test_an_engine_may_take_its_arguments_from_a_file_and_consume_them_all(plan: Any, cases: Any) -> None:
    worker = plan(cases.trtllm()).process("prefill-0")
    [file] = worker.files
    assert json.loads(file.text)["kv_cache_config"] == {"free_gpu_memory_fraction": 0.8}
    assert option(worker, "--config") == "{run.files}/prefill-0/engine.yaml"
    assert "--tensor-parallel-size" not in worker.args


def test_an_ipv6_address_in_a_file_is_bracketed_after_binding(plan: Any, cases: Any) -> None:
    bound = bind(plan(cases.trtllm()), {"n2.host": "[2001:db8::2]"})
    [file] = bound.process("case-trtllm-serve").files
    assert json.loads(file.text)["generation_servers"] == {"num_instances": 1, "urls": ["[2001:db8::2]:6100"]}


def test_lines_that_mean_failure_are_watched_for_the_whole_life(plan: Any, cases: Any) -> None:
    assert "Failed to initialize executor" in plan(cases.trtllm()).process("decode-0").fatal_log


def test_a_variable_may_hold_the_run_so_that_two_runs_do_not_meet(plan: Any, cases: Any) -> None:
    assert plan(cases.trtllm()).process("prefill-0").env["TRTLLM_EPLB_SHM_NAME"] == "moe_{run.id}_prefill-0"


def test_two_parts_of_a_worker_share_the_port_of_its_first_node(plan: Any, cases: Any) -> None:
    made = plan(cases.sidecar())
    blocks = [made.process(name).ports["grpc"] for name in ("agg-0-0", "agg-0-1", "agg-0-sidecar")]
    assert {block.first for block in blocks} == {15051}
    assert [block.held for block in blocks] == [True, False, False]
    assert made.process("agg-0-sidecar").slots[0].node.name == "n0"


def test_the_part_that_serves_is_the_upstream_and_brings_its_own_gate(plan: Any, cases: Any) -> None:
    made = plan(cases.sidecar())
    assert [up.process for up in made.upstreams] == ["agg-0-sidecar"]
    assert "agg-0-sidecar is live" in [gate.name for gate in made.gates]


def test_one_server_per_rank_has_its_own_devices_port_and_upstream(plan: Any, cases: Any) -> None:
    made = plan(cases.rank_servers())
    third = made.process("agg-0-2")
    assert third.slot_env == ({"ROCR_VISIBLE_DEVICES": "{n0.gpu4},{n0.gpu5}"},)
    assert option(third, "--first-rank") == "4"
    assert [up.url for up in made.upstreams][2] == "grpc://{n0.host}:6102"


def test_a_worker_without_a_health_url_is_ready_when_it_accepts(plan: Any, cases: Any) -> None:
    check = plan(cases.rank_servers()).gates[1].checks[0]
    assert check == TcpCheck(address="{n0.host}:6101")


def test_devices_that_do_not_divide_into_ranks_are_refused(refusal: Any, cases: Any) -> None:
    block = cases.rank_servers()
    [role] = block["roles"]
    block["roles"][role] |= {"nodes": 1, "workers": 1, "gpus": 3}
    [problem] = refusal(block)
    assert problem.where == f"roles.{role}.gpus"
    assert problem.message == "3 GPUs on a node do not divide into ranks of 2; give a multiple of it"


def test_a_proxy_in_front_of_routers_owns_the_public_port(plan: Any, cases: Any) -> None:
    made = plan(cases.behind_proxy())
    proxy = made.process("case-nginx-proxy")
    assert made.endpoint == "http://{n0.host}:8000"
    assert proxy.ports["door"].first == 8000
    assert proxy.files[0].text == "server {n0.host}:8180;\nserver {n1.host}:8180;\n"


def test_engines_of_two_plugins_pair_by_protocol_without_an_edit_of_either(plan: Any, cases: Any) -> None:
    made = plan(cases.mixed())
    assert made.protocol == "case-vllm-pd-tilert"
    assert made.process("case-tilert-router").args[-3:] == ("--decode", "{n1.host}:6100", "5400")


def test_a_role_that_lacks_a_port_of_the_protocol_is_refused_by_the_ports_name(refusal: Any, cases: Any) -> None:
    block = cases.mixed()
    block["roles"]["decode"] = block["roles"]["prefill"] | {"nodes": 1}
    [problem] = refusal(block)
    assert "role decode offers no port control" in problem.message


def test_an_engine_that_lacks_a_role_is_refused(refusal: Any, cases: Any) -> None:
    block = cases.mixed()
    block["roles"]["prefill"]["engine"] = "case-tilert"
    block["roles"]["prefill"]["args"] = {}
    assert "engine 'case-tilert' has no role 'prefill'" in " ".join(p.message for p in refusal(block))


def test_readiness_that_no_data_describes_is_judged_by_the_routers_own_code(
    plan: Any, cases: Any, case_site: Any
) -> None:
    check = plan(cases.rank_servers("case-judged")).gates[-1].checks[0]
    assert isinstance(check, PluginCheck)
    router = Plugins().router("case-judged")
    config = router.parse({})
    assert router.verdict(config, check, Reply()).ready is False
    assert router.verdict(config, check, Reply(status=200, body="ready " * 4)).ready is True


def test_a_strangers_engine_is_a_page_and_works_behind_any_router_of_its_protocol(
    plan: Any, cases: Any, case_site: Any
) -> None:
    code = (case_site.folder / "case_plugins" / "stranger.py").read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 50
    for router in ("mock", "sglang-router", "case-vllm-router", "case-nginx"):
        made = plan(cases.stranger() | {"frontend": {"type": router}})
        assert made.process("agg-1").program == ("small-server",)
        assert made.endpoint == "http://{n0.host}:8000"


def test_core_waits_for_a_strangers_health_by_itself(plan: Any, cases: Any) -> None:
    check = plan(cases.stranger()).gates[0].checks[0]
    assert check == HttpCheck(url="http://{n0.host}:6100/health")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Command(program=('x',), args=(1,))", "Expected `str`, got `int` - at `$.args[0]`"),
        ("Command(program=('x',), args='--port 1')", "Expected `array`, got `str` - at `$.args`"),
        ("{'program': ['x']}", "Expected `Command`, got `dict`"),
        ("Command(program=('x',), env={'A': 1})", "Expected `str | null`, got `int` - at `$.env[...]`"),
    ],
)
def test_an_answer_of_the_wrong_type_is_one_line_that_names_plugin_hook_and_place(
    answer: Any, words: Any, cases: Any, case_plugin: Any
) -> None:
    body = f"""
    @hookimpl
    def inferlane_engine_layout(engine, group, fleet):
        return EngineLayout(parts=(Part(ports=(Port(name="http", base=6100, public=True),)),))

    @hookimpl
    def inferlane_engine_command(engine, process, run):
        return {answer}
    """
    case_plugin("case-wrong-1", "inferlane.engines", "case-wrong", body)
    block = cases.stranger()
    block["engine"] = "case-wrong"
    with pytest.raises(PluginFault) as fault:
        plan_of(block)
    line = str(fault.value)
    assert line.startswith("plugin case-wrong (case-wrong-1 1.0): hook inferlane_engine_command answered badly: ")
    assert words in line
    assert "\n" not in line


def test_a_plugin_cannot_change_what_it_was_handed(cases: Any, case_plugin: Any) -> None:
    body = """
    @hookimpl
    def inferlane_engine_layout(engine, group, fleet):
        return EngineLayout(parts=(Part(ports=(Port(name="http", base=6100, public=True),)),))

    @hookimpl
    def inferlane_engine_command(engine, process, run):
        process.ports["http"] = 1
    """
    case_plugin("case-writer-1", "inferlane.engines", "case-writer", body)
    with pytest.raises(PluginFault, match="does not support item assignment"):
        plan_of(cases.stranger() | {"engine": "case-writer"})


def test_the_metadata_of_the_cases_lists_every_module(case_site: Any) -> None:
    folder = Path(case_site.folder)
    listed = (folder / "case_plugins-1.0.dist-info" / "entry_points.txt").read_text(encoding="utf-8")
    helpers = {"__init__", "arguments", "recipes"}
    modules = {path.stem for path in (folder / "case_plugins").glob("*.py")} - helpers
    assert {name for name in modules if f"= case_plugins.{name}\n" not in listed} == set()


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("EngineLayout(parts=(Part(),))", "part 'main' serves at port 'http', which it does not have"),
        ("EngineLayout(parts=(Part(name='a', ports=(HTTP,)),))", "no part is called 'main', which is said to serve"),
        ("EngineLayout(parts=(Part(ports=(HTTP,)), Part(ports=(HTTP,))))", "two parts are called 'main'"),
        ("EngineLayout(parts=(Part(ports=(HTTP, HTTP)),))", "part 'main' has two ports 'http'"),
        ("EngineLayout(parts=(Part(ports=(HTTP,), metrics=Metrics(port='m')),))", "has no port 'm' for its metrics"),
        ("EngineLayout(parts=(Part(ports=(HTTP, Port(name='b', base=9000, width=0))),))", "port 'b' is 0 wide"),
        ("EngineLayout(parts=(Part(per='rank', gpus_per_rank=0, ports=(HTTP,)),))", "has 0 devices per rank"),
    ],
)
def test_a_layout_that_disagrees_with_itself_is_one_line(layout: str, words: str, cases: Any, case_plugin: Any) -> None:
    body = f"""
    HTTP = Port(name="http", base=6100, public=True)

    @hookimpl
    def inferlane_engine_layout(engine, group, fleet):
        return {layout}
    """
    case_plugin("case-odd-1", "inferlane.engines", "case-odd", body)
    with pytest.raises(PluginFault) as fault:
        plan_of(cases.stranger() | {"engine": "case-odd"})
    assert str(fault.value).startswith("plugin case-odd (case-odd-1 1.0): its layout disagrees with itself: ")
    assert words in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_router_without_its_public_port_is_one_line(cases: Any, case_plugin: Any) -> None:
    text = """
    from inferlane.api import *

    PLUGIN_API = 1

    @hookimpl
    def inferlane_routers():
        accepts = (Accept(protocol="*"),)
        return [RouterSpec(type="case-shut", summary="no door", config=RouterConfig, accepts=accepts)]

    @hookimpl
    def inferlane_router_layout(router, fleet):
        return RouterLayout(parts=(Part(per="run", ports=(Port(name="http", base=8000),)),))
    """
    case_plugin("case-shut-1", "inferlane.routers", "case-shut", text)
    with pytest.raises(PluginFault, match="no part has the public port 'http'"):
        plan_of(cases.rank_servers("case-shut"))
