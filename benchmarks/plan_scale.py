"""How planning grows with the number of workers, as ratios against a bare interpreter measured in the same run.

Run it with ``python benchmarks/plan_scale.py``. Per number of workers it prints the time of the plan, of its JSON and
of binding it, each in bare starts (``python -c pass``), and how much plan and binding grew against the row before: at
twice the workers, 2.0 is linear.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

from inferlane.config import Cluster, Recipe
from inferlane.planning import Shape, bind, build_plan, encode
from inferlane.plugins import Plugins
from inferlane.testing.plans import recipe_block
from inferlane.values import Plan

PER_NODE = 8
COUNTS = (512, 1024, 2048, 4096, 8192)
ROUNDS = 3


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


def make(workers: int) -> Plan:
    """A plan of that many workers, half prefill and half decode, eight to a node."""
    nodes, half = workers // PER_NODE // 2, workers // 2
    role = {"nodes": nodes, "workers": half, "gpus": 1}
    recipe = Recipe.model_validate(recipe_block("mock", "mock", {"prefill": role, "decode": role}))
    return build_plan(recipe, Cluster(), Shape(), Plugins())


def peak_of(workers: int) -> float:
    """Most memory that planning holds at once, MiB; tracing slows it down, so it is not timed."""
    tracemalloc.start()
    make(workers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


class Timing(NamedTuple):
    """One row: times in bare starts, the size of the JSON in MiB."""

    plan: float
    json: float
    bind: float
    size: float


def measure(workers: int, unit: float) -> Timing:
    """Time one number of workers; ``unit`` is the seconds of a bare start."""
    plan = make(workers)
    known = {f"{node.name}.{word}": "192.0.2.1" for node in plan.nodes for word in ("ip", "host", "bind")}
    return Timing(
        plan=best(lambda: make(workers)) / unit,
        json=best(lambda: encode(plan)) / unit,
        bind=best(lambda: bind(plan, known)) / unit,
        size=len(encode(plan)) / 2**20,
    )


def main() -> None:
    """Print the table."""
    unit = best(bare)
    make(PER_NODE * 2)  # imports are not part of the growth
    print(f"one bare start = {unit * 1000:.1f} ms; times below in bare starts, growth against the row before")
    names = ("workers", "plan", "growth", "json", "bind", "growth", "JSON MiB", "peak MiB")
    print(" ".join(f"{name:>9}" for name in names))
    before: Timing | None = None
    for workers in COUNTS:
        timing = measure(workers, unit)
        plan_growth = f"{timing.plan / before.plan:.2f}" if before else ""
        bind_growth = f"{timing.bind / before.bind:.2f}" if before else ""
        cells = [f"{timing.plan:.1f}", plan_growth, f"{timing.json:.1f}", f"{timing.bind:.1f}", bind_growth]
        cells += [f"{timing.size:.1f}", f"{peak_of(workers):.1f}"]
        print(f"{workers:9} " + " ".join(f"{cell:>9}" for cell in cells))
        before = timing


if __name__ == "__main__":
    main()
