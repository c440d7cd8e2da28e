"""One function for every process: order of layers, removal, contradictions, masks."""

from __future__ import annotations

from typing import Any

from inferlane.planning.environment import Layer, merge_environment, split
from inferlane.testing.plans import plan_of, problems_of, recipe_block
from inferlane.values import Problem

AGG = {"agg": {"nodes": 1, "workers": 2, "gpus": 4}}


def merge(*layers: Layer) -> tuple[dict[str, str | None], list[Problem]]:
    problems: list[Problem] = []
    return merge_environment("agg-0", layers, problems), problems


def test_a_later_layer_wins() -> None:
    merged, problems = merge(
        Layer("service cache", {"A": "0"}),
        Layer("plugin x", {"A": "1"}),
        Layer("cluster:environment", {"A": "2"}),
        Layer("environment", {"A": "3"}, "user"),
    )
    assert merged == {"A": "3"}
    assert not problems


def test_none_removes_a_name_whoever_set_it() -> None:
    merged, _ = merge(Layer("cluster:environment", {"A": "1", "B": "1"}), Layer("environment", {"A": None}, "user"))
    assert split(merged, {}) == ({"B": "1"}, ("A",))


def test_a_role_that_differs_from_the_recipe_wins_with_a_warning_that_names_both() -> None:
    merged, [warning] = merge(Layer("environment", {"A": "1"}, "user"), Layer("roles.agg.env", {"A": "2"}, "user"))
    assert merged == {"A": "2"}
    assert (warning.where, warning.severity) == ("roles.agg.env.A", "warning")
    assert warning.message == "A is also set in environment, differently; this one wins"


def test_a_role_that_repeats_the_recipe_is_no_warning() -> None:
    _, problems = merge(Layer("environment", {"A": "1"}, "user"), Layer("roles.agg.env", {"A": "1"}, "user"))
    assert not problems


def test_a_recipe_that_contradicts_the_plan_is_refused_at_its_own_line() -> None:
    _, [problem] = merge(Layer("roles.agg.env", {"A": "1"}, "user"), Layer("plugin x", {"A": "2"}, "forced"))
    assert (problem.where, problem.severity) == ("roles.agg.env.A", "error")
    assert problem.message == "the plan sets A itself (plugin x); remove it here"


def test_a_recipe_that_agrees_with_the_plan_is_fine() -> None:
    _, problems = merge(Layer("roles.agg.env", {"A": "1"}, "user"), Layer("plugin x", {"A": "1"}, "forced"))
    assert not problems


def test_a_recipe_that_sets_what_the_plan_removes_is_refused() -> None:
    _, [problem] = merge(Layer("environment", {"A": "1"}, "user"), Layer("plugin x", {"A": None}, "forced"))
    assert problem.where == "environment.A"


def test_two_that_force_one_name_differently_are_refused_naming_both() -> None:
    _, [problem] = merge(Layer("service a", {"A": "1"}, "forced"), Layer("plugin x", {"A": "2"}, "forced"))
    assert problem.message == "agg-0: plugin x and service a set A differently"


def test_a_cluster_that_differs_from_the_plan_yields_without_a_word() -> None:
    merged, problems = merge(Layer("cluster:environment", {"A": "1"}), Layer("plugin x", {"A": "2"}, "forced"))
    assert merged == {"A": "2"}
    assert not problems


def test_a_mask_in_the_recipe_has_no_effect_and_is_a_warning() -> None:
    merged, [warning] = merge(
        Layer("environment", {"MASK": "0", "OTHER": "0"}, "user"), Layer("accelerator x", {"MASK": "4,5"}, "mask")
    )
    assert (warning.where, warning.severity) == ("environment.MASK", "warning")
    assert split(merged, {"MASK": "4,5"}) == ({"OTHER": "0"}, ())


def test_a_trace_is_told_every_layer_lowest_first() -> None:
    told: list[tuple[str, str | None]] = []
    layers = [Layer("cluster:environment", {"A": "1"}), Layer("environment", {"A": None}, "user")]
    merge_environment("agg-0", layers, [], lambda process, name, origin, value: told.append((origin, value)))
    assert told == [("cluster:environment", "1"), ("environment", None)]


def test_every_kind_of_process_gets_the_sites_and_the_recipes_environment() -> None:
    recipe = recipe_block(
        "mock",
        "mock",
        AGG,
        environment={"FROM_RECIPE": "1"},
        services=[{"name": "cache", "command": "sleep 600"}],
        benchmark={"type": "custom", "command": "true"},
        telemetry={"enabled": True},
    )
    plan = plan_of(recipe, {"environment": {"FROM_SITE": "1"}})
    assert {process.kind for process in plan.processes} == {"worker", "router", "service", "benchmark"}
    for process in plan.processes:
        assert (process.name, process.env.get("FROM_SITE"), process.env.get("FROM_RECIPE")) == (process.name, "1", "1")


def test_the_blocks_of_router_service_and_benchmark_set_their_own_process_only() -> None:
    recipe = recipe_block(
        "mock",
        {"type": "mock", "env": {"OF_ROUTER": "1"}},
        AGG,
        services=[{"name": "cache", "command": "sleep 600", "env": {"OF_SERVICE": "1"}}],
        benchmark={"type": "custom", "command": "true", "env": {"OF_CLIENT": "1"}},
    )
    plan = plan_of(recipe)
    for name, process in (("OF_ROUTER", "mock"), ("OF_SERVICE", "cache"), ("OF_CLIENT", "benchmark")):
        assert [p.name for p in plan.processes if name in p.env] == [process]


def test_a_contradiction_in_a_plan_names_the_line_of_the_role() -> None:
    recipe = recipe_block("sglang", {"type": "sglang-router", "args": {"dp-aware": True}}, {})
    args = {"tp-size": 8, "dp-size": 8, "enable-dp-attention": True}
    role = {"nodes": 1, "gpus": 8, "args": args}
    recipe["roles"] = {
        "prefill": role,
        "decode": role | {"env": {"SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK": "0"}},
    }
    [problem] = [problem for problem in problems_of(recipe) if problem.severity == "error"]
    assert problem.where == "roles.decode.env.SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK"


def disaggregated(prefill: dict[str, str], **more: dict[str, str]) -> dict[str, Any]:
    role = {"nodes": 1, "gpus": 8}
    return recipe_block("mock", "mock", {"prefill": role | {"env": prefill}, "decode": role}) | more


def test_a_fabric_variable_of_one_role_only_is_a_warning_that_names_both() -> None:
    [warning] = plan_of(disaggregated({"MC_GID_INDEX": "1", "OTHER": "1"})).warnings
    assert (warning.where, warning.severity) == ("roles.prefill.env.MC_GID_INDEX", "warning")
    assert warning.message.startswith("MC_GID_INDEX is set for prefill and not for decode")


def test_a_fabric_variable_that_reaches_both_roles_is_none() -> None:
    recipe = disaggregated({"NCCL_IB_HCA": "a"}, environment={"NCCL_IB_HCA": "a"})
    assert not plan_of(recipe).warnings
    assert not plan_of(disaggregated({"UCX_TLS": "rc"}), {"environment": {"UCX_TLS": "rc"}}).warnings


def test_a_line_of_the_recipe_is_told_of_once_however_many_workers_it_is_for() -> None:
    many = {"agg": {"nodes": 1, "workers": 8, "gpus": 1}}
    [warning] = plan_of(
        recipe_block("sglang", "sglang-router", many, environment={"CUDA_VISIBLE_DEVICES": "0"})
    ).warnings
    assert warning.where == "environment.CUDA_VISIBLE_DEVICES"
