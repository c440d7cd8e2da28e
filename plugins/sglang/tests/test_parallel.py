"""Engine ``sglang``: arguments that are right by themselves and wrong together."""

from __future__ import annotations

from typing import Any

from inferlane.testing.plans import plan_of, problems_of, recipe_block

BACKEND = {"disaggregation-transfer-backend": "nixl"}


def pair(prefill: dict[str, Any], decode: dict[str, Any]) -> dict[str, Any]:
    """One worker of each role, a node each."""
    roles = {"prefill": prefill, "decode": decode}
    blocks = {role: {"nodes": 1, "gpus": 8, "args": {"tp-size": 8, **args}} for role, args in roles.items()}
    return recipe_block("sglang", "sglang-router", blocks)


def aggregated(nodes: int = 1, **args: Any) -> dict[str, Any]:
    """One worker over all nodes."""
    role = {"nodes": nodes, "gpus": 8 * nodes, "args": {name.replace("_", "-"): value for name, value in args.items()}}
    return recipe_block("sglang", "sglang-router", {"agg": role})


def test_roles_that_transfer_by_different_backends_are_refused() -> None:
    [problem] = problems_of(pair(BACKEND, {"disaggregation_transfer_backend": "mori"}))
    assert problem.where == "roles.decode.args.disaggregation_transfer_backend"
    assert problem.message == "decode receives by mori, and prefill sends by nixl; state the same in both roles"


def test_a_backend_of_one_role_only_is_told_with_the_default_of_the_other() -> None:
    [warning] = plan_of(pair(BACKEND, {})).warnings
    assert warning.severity == "warning"
    assert warning.message.startswith("decode receives by mooncake, and prefill sends by nixl (without the argument,")
    assert plan_of(pair(BACKEND, BACKEND)).warnings == ()


def test_attention_that_is_parallel_over_one_rank_is_told() -> None:
    [warning] = plan_of(aggregated(tp_size=8, enable_dp_attention=True)).warnings
    assert warning.where == "roles.agg.args.enable-dp-attention"
    assert warning.message == "has no effect with a data parallel size of 1; state dp-size too"


def test_ranks_over_several_nodes_need_parallel_attention() -> None:
    [problem] = problems_of(aggregated(nodes=2, tp_size=8, dp_size=2))
    assert problem.where == "roles.agg.args.dp-size"
    assert problem.message.startswith("2 data parallel ranks over 2 nodes need enable-dp-attention")
    assert plan_of(aggregated(nodes=2, tp_size=16, dp_size=2, enable_dp_attention=True)).warnings == ()
