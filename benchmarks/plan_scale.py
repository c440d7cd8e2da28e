"""How planning grows with its size, as ratios against a bare interpreter measured in the same run.

    python benchmarks/plan_scale.py

Three ways to grow: many workers of one GPU, eight to a node, without arguments of their own and with a usual set of
them that is checked against the engine's flags; and one worker over many nodes. Per size it prints the time of the
plan, of its JSON and of binding it, each in bare starts (``python -c pass``), the growth of the plan's time against the
row before (at twice the size, 2.0 is linear), the size of the JSON and the most memory held. Exit status 1 if 4,096
workers on 512 nodes take more than 120 bare starts (about a second), or if time or memory for each worker or node grows
by more than 1.8x from the second smallest to the largest.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from inferlane.config import Cluster, Recipe
from inferlane.planning import Shape, bind, build_plan, encode
from inferlane.plugins import Plugins
from inferlane.testing.plans import recipe_block
from inferlane.values import Plan

PER_NODE = 8
WORKERS = (512, 1024, 2048, 4096, 8192)
NODES = (64, 128, 256, 512, 1024)
ROUNDS = 3
SECOND = 120.0
"""Bare starts that count as about a second."""
LINEAR = 1.8
"""How much more each worker or node may cost at the largest size."""

ARGS = {
    "mem-fraction-static": 0.85,
    "max-running-requests": 128,
    "chunked-prefill-size": 8192,
    "context-length": 16384,
    "trust-remote-code": True,
    "cuda-graph-bs": [1, 2, 4, 8, 16, 32],
    "kv-cache-dtype": "fp8_e4m3",
}

Make = Callable[[int], Plan]


def best(action: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def bare() -> None:
    """One start of an interpreter that does nothing."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def planned(block: dict[str, Any]) -> Plan:
    """The plan of a recipe, plugins loaded anew."""
    return build_plan(Recipe.model_validate(block), Cluster(), Shape(), Plugins())


def many_workers(workers: int) -> Plan:
    """A plan of that many workers, half prefill and half decode, eight to a node."""
    nodes, half = workers // PER_NODE // 2, workers // 2
    role = {"nodes": nodes, "workers": half, "gpus": 1}
    return planned(recipe_block("mock", "mock", {"prefill": role, "decode": role}))


def with_flags(workers: int) -> Plan:
    """As many, with arguments and variables as people write them."""
    nodes, half = workers // PER_NODE // 2, workers // 2
    env = {f"SETTING_{index}": "1" for index in range(12)}
    role = {"nodes": nodes, "workers": half, "gpus": 1, "args": ARGS, "env": env}
    return planned(recipe_block("sglang", "sglang-router", {"prefill": role, "decode": role}))


def one_worker(nodes: int) -> Plan:
    """A plan of one worker over that many nodes."""
    gpus = nodes * PER_NODE
    role = {"nodes": nodes, "workers": 1, "gpus": gpus, "args": {"tp-size": gpus}}
    return planned(recipe_block("sglang", "sglang-router", {"agg": role}))


def peak_of(make: Make, size: int) -> float:
    """Most memory that planning holds at once, MiB; tracing slows it down, so it is not timed."""
    tracemalloc.start()
    make(size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


class Row(NamedTuple):
    """One size: times in bare starts, JSON and memory in MiB."""

    size: int
    plan: float
    json: float
    bind: float
    text: float
    peak: float


def measure(make: Make, size: int, unit: float) -> Row:
    """Time one size; ``unit`` is the seconds of a bare start."""
    plan = make(size)
    known = {f"{node.name}.{word}": "192.0.2.1" for node in plan.nodes for word in ("ip", "host", "bind")}
    return Row(
        size,
        plan=best(lambda: make(size)) / unit,
        json=best(lambda: encode(plan)) / unit,
        bind=best(lambda: bind(plan, known)) / unit,
        text=len(encode(plan)) / 2**20,
        peak=peak_of(make, size),
    )


def rows(name: str, make: Make, sizes: Sequence[int], unit: float) -> list[Row]:
    """Measure and print one way to grow."""
    make(sizes[0])  # imports are not part of the growth
    print(" ".join(f"{title:>9}" for title in (name, "plan", "growth", "json", "bind", "JSON MiB", "peak MiB")))
    found: list[Row] = []
    for size in sizes:
        row = measure(make, size, unit)
        growth = f"{row.plan / found[-1].plan:.2f}" if found else ""
        cells = (f"{row.plan:.1f}", growth, f"{row.json:.1f}", f"{row.bind:.1f}", f"{row.text:.1f}", f"{row.peak:.1f}")
        print(f"{size:9} " + " ".join(f"{cell:>9}" for cell in cells))
        found.append(row)
    return found


def missed(name: str, table: Sequence[Row]) -> Iterator[str]:
    """Bars of growth that do not hold. The smallest size has too large a fixed share to be compared with."""
    small, large = table[1], table[-1]
    for what in ("plan", "peak"):
        growth = getattr(large, what) / getattr(small, what) / (large.size / small.size)
        print(f"{name}: {what} of each at {large.size} is {growth:.2f}x that at {small.size} (bar {LINEAR}x)")
        if growth > LINEAR:
            yield f"{name}: {what} is not linear"


def main() -> int:
    """Print the tables; 1 if a bar is missed."""
    unit = best(bare)
    print(f"one bare start = {unit * 1000:.1f} ms; times below in bare starts, growth against the row before")
    faults: list[str] = []
    for name, make, sizes in (
        ("workers", many_workers, WORKERS),
        ("flagged", with_flags, WORKERS),
        ("nodes", one_worker, NODES),
    ):
        table = rows(name, make, sizes, unit)
        faults += missed(name, table)
        for row in table:
            if sizes is WORKERS and row.size == 4096:
                print(
                    f"{name}: 4,096 take {row.plan:.1f} bare starts, {row.plan * unit:.2f} s (bar {SECOND:.0f} starts)"
                )
                faults += [f"{name}: 4,096 take longer than about a second"] if row.plan > SECOND else []
    for fault in faults:
        print(f"missed: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
