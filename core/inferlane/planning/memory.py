"""Host memory: what all processes of a node need together, against what a node has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from inferlane.values import Plan, Problem

GIB = 1 << 30


def check_memory(plan: Plan, memory_bytes: int | None) -> Iterator[Problem]:
    """An error for each node that is asked for more than it has; nothing where its memory is not known."""
    if memory_bytes is None:
        return
    asked: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for process in plan.processes:
        need = sum(int(need.value) for need in process.needs if need.kind == "memory_bytes")
        if need:
            asked[process.slots[0].node.name][process.name] = need
    for node, needs in asked.items():
        total = sum(needs.values())
        if total > memory_bytes:
            parts = ", ".join(f"{name} {need / GIB:.0f} GiB" for name, need in needs.items())
            message = (
                f"{node}: {parts}: {total / GIB:.0f} GiB of host memory needed, {memory_bytes / GIB:.0f} GiB there"
            )
            yield Problem(where="services", message=message)
