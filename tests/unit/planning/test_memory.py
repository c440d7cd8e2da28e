"""Host memory is counted per node, over all that is started there."""

from __future__ import annotations

import msgspec

from inferlane.planning.memory import GIB, check_memory
from inferlane.testing.plans import plan_of, recipe_block
from inferlane.values import Need, Plan


def plan_with(*gib: int) -> Plan:
    plan = plan_of(recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": len(gib), "gpus": 1}}))
    needs = iter(gib)
    processes = [
        msgspec.structs.replace(p, needs=(Need(kind="memory_bytes", value=str(next(needs) * GIB)),))
        if p.kind == "worker"
        else p
        for p in plan.processes
    ]
    return msgspec.structs.replace(plan, processes=tuple(processes))


def test_what_fits_alone_and_not_together_is_refused_with_the_sum() -> None:
    (problem,) = check_memory(plan_with(128, 128), 200 * GIB)
    assert problem.message == "n0: agg-0 128 GiB, agg-1 128 GiB: 256 GiB of host memory needed, 200 GiB there"


def test_what_fits_together_is_fine_and_so_is_a_node_of_unknown_size() -> None:
    assert list(check_memory(plan_with(100, 100), 200 * GIB)) == []
    assert list(check_memory(plan_with(100, 100), None)) == []
