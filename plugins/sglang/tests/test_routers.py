"""Routers of the plugin: both meanings of ``sglang``, commands, and gates that compare names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inferlane.planning import bind
from inferlane.running.readiness.judge import judge_http
from inferlane.testing.plans import option, plan_of, problems_of, recipe_block
from inferlane.values import HttpCheck, Plan, Reply

RANKS = {"tp-size": 8, "dp-size": 8, "enable-dp-attention": True}
ROUTERS = ["sglang-router", "smg", "sglang"]


def disaggregated(router: str = "sglang-router", **router_args: Any) -> dict[str, Any]:
    """Two prefill nodes and one decode node."""
    block = {"gpus": 8, "args": {"tp-size": 8}}
    roles = {"prefill": {"nodes": 2, "workers": 2, **block}, "decode": {"nodes": 1, **block}}
    return recipe_block("sglang", {"type": router, "args": router_args}, roles)


def with_ranks(**router_args: Any) -> dict[str, Any]:
    """The same with eight data-parallel ranks in each worker."""
    recipe = disaggregated(**router_args)
    for role in recipe["roles"].values():
        role["args"] = RANKS
    return recipe


def aggregated(router: str, workers: int = 2, **router_args: Any) -> dict[str, Any]:
    return recipe_block(
        "sglang", {"type": router, "args": router_args}, {"agg": {"nodes": 1, "workers": workers, "gpus": 1}}
    )


def gate_checks(plan: Plan) -> list[HttpCheck]:
    """The checks of the router's own gate."""
    [gate] = [gate for gate in plan.gates if gate.name == "router knows every worker"]
    assert gate.before == "traffic"
    return [check for check in gate.checks if isinstance(check, HttpCheck)]


def test_sglang_with_one_aggregate_worker_is_that_worker_on_the_public_port() -> None:
    plan = plan_of(aggregated("sglang", workers=1))
    assert [process.name for process in plan.processes] == ["agg-0"]
    assert option(plan.process("agg-0"), "--port") == "8000"
    assert plan.endpoint == "http://{n0.host}:8000"


def test_sglang_with_one_worker_over_two_nodes_is_direct_too() -> None:
    recipe = aggregated("sglang", workers=1)
    recipe["roles"]["agg"] = {"nodes": 2, "gpus": 16, "args": {"tp-size": 16}}
    assert plan_of(recipe).endpoint == "http://{n0.host}:8000"


@pytest.mark.parametrize(
    "recipe",
    [aggregated("sglang"), aggregated("sglang", workers=1, policy="cache_aware"), disaggregated("sglang")],
    ids=["two workers", "a policy", "two roles"],
)
def test_sglang_is_the_router_in_older_files(recipe: dict[str, Any]) -> None:
    plan = plan_of(recipe)
    router = plan.process("sglang")
    assert router.kind == "router"
    assert router.program[-1] == "sglang_router.launch_router"
    assert plan.endpoint == "http://{n0.host}:8000"


def test_arguments_for_a_router_that_is_not_started_are_refused() -> None:
    [problem] = problems_of(aggregated("sglang", workers=1, **{"request-timeout-secs": 60}))
    assert problem.where == "frontend.args.request-timeout-secs"
    assert "use sglang-router" in problem.message


def test_the_direct_form_waits_until_the_model_is_listed() -> None:
    [check] = plan_of(aggregated("sglang", workers=1)).gates[-1].checks
    assert isinstance(check, HttpCheck)
    assert check.url == "http://{n0.host}:8000/v1/models"


@pytest.mark.parametrize("router", ROUTERS)
def test_prefill_workers_are_listed_with_their_bootstrap_ports(router: str) -> None:
    args = plan_of(disaggregated(router)).process(router).args
    expected = "--pd-disaggregation --prefill http://{n0.host}:6100 7200 --prefill http://{n1.host}:6100 7200"
    assert " ".join(args).startswith(f"{expected} --decode http://{{n2.host}}:6100 ")


@pytest.mark.parametrize("router", ["sglang-router", "smg"])
def test_aggregate_workers_follow_one_flag(router: str) -> None:
    args = plan_of(aggregated(router)).process(router).args
    assert args[:3] == ("--worker-urls", "http://{n0.host}:6100", "http://{n0.host}:6101")


@pytest.mark.parametrize("router", ROUTERS)
def test_a_router_drops_late_workers_for_good_so_workers_come_first(router: str) -> None:
    healthy = [gate.before for gate in plan_of(disaggregated(router)).gates if gate.name.endswith("is healthy")]
    assert healthy == ["router"] * 3


def test_the_startup_window_is_the_runs_own_unless_the_recipe_says_otherwise() -> None:
    recipe = disaggregated() | {"health_check": {"max_attempts": 360, "interval_seconds": 10}}
    assert option(plan_of(recipe).process("sglang-router"), "--worker-startup-timeout-secs") == "3600"
    recipe["frontend"]["args"] = {"worker_startup_timeout_secs": 60}
    args = plan_of(recipe).process("sglang-router").args
    assert args.count("--worker-startup-timeout-secs") == 1
    assert args[-2:] == ("--worker-startup-timeout-secs", "60")


def test_smg_polls_each_second_and_is_its_own_program() -> None:
    router = plan_of(aggregated("smg")).process("smg")
    assert router.program[-1] == "smg.launch_router"
    assert option(router, "--worker-startup-check-interval") == "1"


def test_a_missing_prefill_worker_is_named() -> None:
    hosts = {f"n{index}.host": f"192.0.2.{index}" for index in range(3)}
    prefill = gate_checks(bind(plan_of(disaggregated()), hosts))[0]
    row = {"url": "http://192.0.2.0:6100", "worker_type": "prefill", "is_healthy": True}
    verdict = judge_http(prefill, Reply(status=200, body=json.dumps({"workers": [row]})))
    assert not verdict.ready
    assert verdict.missing == ("http://192.0.2.1:6100",)


def test_an_unhealthy_worker_and_one_of_the_other_role_do_not_count() -> None:
    hosts = {f"n{index}.host": f"192.0.2.{index}" for index in range(3)}
    decode = gate_checks(bind(plan_of(disaggregated()), hosts))[1]
    ill = {"url": "http://192.0.2.2:6100", "worker_type": "decode", "is_healthy": False}
    other = {"url": "http://192.0.2.2:6100", "worker_type": "prefill", "is_healthy": True}
    good = ill | {"is_healthy": True}
    for row, ready in ((ill, False), (other, False), (good, True)):
        assert judge_http(decode, Reply(status=200, body=json.dumps({"workers": [row]}))).ready is ready


def test_a_router_that_addresses_ranks_is_awaited_rank_by_rank() -> None:
    prefill, decode = gate_checks(plan_of(with_ranks(**{"dp-aware": True})))
    assert prefill.rows is not None
    assert decode.rows is not None
    assert (prefill.rows.at_least, decode.rows.at_least) == (16, 8)
    assert decode.rows.values[7] == "http://{n2.host}:6100@7"


def test_ranks_without_that_switch_are_one_worker_each() -> None:
    prefill, _ = gate_checks(plan_of(with_ranks()))
    assert prefill.rows is not None
    assert prefill.rows.values == ("http://{n0.host}:6100", "http://{n1.host}:6100")


def test_aggregate_workers_are_awaited_as_regular_ones() -> None:
    [check] = gate_checks(plan_of(aggregated("sglang-router")))
    assert check.rows is not None
    assert check.rows.where == {"worker_type": ("regular",), "is_healthy": (True,)}


def test_the_metrics_port_is_always_given_and_stays_off_the_workers() -> None:
    router = plan_of(disaggregated()).process("sglang-router")
    assert option(router, "--prometheus-port") == str(router.ports["metrics"].first) == "29000"
    assert option(router, "--prometheus-host") == "{n0.bind}"
    assert router.metrics is not None


@pytest.mark.parametrize("key", ["prometheus-port", "prometheus_port"])
def test_a_metrics_port_of_the_recipe_is_taken_once_and_exactly(key: str) -> None:
    router = plan_of(disaggregated("sglang-router", **{key: 29555})).process("sglang-router")
    assert router.ports["metrics"].first == 29555
    assert router.args.count("--prometheus-port") == 1


def test_a_metrics_port_that_is_taken_is_refused_naming_both() -> None:
    [problem] = problems_of(disaggregated("sglang-router", **{"prometheus-port": 8000}))
    assert "port 8000 on n0" in problem.message
    assert "sglang-router.metrics" in problem.message
    assert "sglang-router.http" in problem.message


@pytest.mark.parametrize("value", ["auto", 0, -1, 70000])
def test_a_metrics_port_that_is_no_port_is_refused_and_not_a_fault_of_the_plugin(value: Any) -> None:
    [problem] = problems_of(disaggregated(**{"prometheus-port": value}))
    assert problem.where == "frontend.args.prometheus-port"


@pytest.mark.parametrize("key", ["host", "port", "worker_urls", "prefill", "pd-disaggregation"])
def test_an_argument_that_the_plan_owns_is_refused(key: str) -> None:
    assert [problem.where for problem in problems_of(disaggregated(**{key: "x"}))] == [f"frontend.args.{key}"]


def test_a_router_on_the_first_decode_node_listens_there() -> None:
    recipe = disaggregated()
    recipe["frontend"]["placement"] = {"node": "first_decode"}
    plan = plan_of(recipe)
    assert option(plan.process("sglang-router"), "--host") == "{n2.bind}"
    assert plan.endpoint == "http://{n2.host}:8000"


@pytest.mark.parametrize("roles", [("prefill",), ("decode",)])
def test_half_of_a_pair_is_refused_with_what_the_router_takes(roles: tuple[str, ...]) -> None:
    recipe = disaggregated()
    recipe["roles"] = {role: recipe["roles"][role] for role in roles}
    [problem] = problems_of(recipe)
    assert problem.where == "frontend.type"
    assert "sglang-pd for prefill+decode" in problem.message


def test_a_router_that_cannot_reach_ranks_of_a_pair_is_told_before_anything_starts() -> None:
    """Measured on sglang-router 0.3.2 behind twins: its request goes to a host called like the rank."""
    (problem,) = plan_of(with_ranks(**{"dp-aware": True})).warnings
    assert problem.where == "frontend.args.dp-aware"
    assert "cannot reach ranks of prefill and decode workers" in problem.message
    recipe = with_ranks(**{"dp-aware": True})
    recipe["frontend"]["type"] = "smg"
    assert plan_of(recipe).warnings == ()
