"""Planning in tests: from a recipe as a mapping to a plan, and questions that many tests ask of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inferlane.config import Cluster, Recipe
from inferlane.errors import Refused
from inferlane.planning import Shape, build_plan
from inferlane.planning.environment import Trace
from inferlane.plugins import Plugins
from inferlane.values import Plan, PlannedProcess, Problem


def recipe_block(
    engine: str | Mapping[str, Any] | None,
    router: str | Mapping[str, Any],
    roles: Mapping[str, Mapping[str, Any]],
    gpu: str = "h100",
    gpus_per_node: int = 8,
    **more: Any,
) -> dict[str, Any]:
    """A recipe as its file would say it. ``more``: further top-level keys."""
    block: dict[str, Any] = {
        "schema": 2,
        "name": "test",
        "model": {"path": "hf:Qwen/Qwen3-0.6B"},
        "resources": {"gpu_type": gpu, "gpus_per_node": gpus_per_node},
        "frontend": {"type": router} if isinstance(router, str) else dict(router),
        "roles": {role: dict(block) for role, block in roles.items()},
        **more,
    }
    return block if engine is None else {**block, "engine": engine if isinstance(engine, str) else dict(engine)}


def plan_of(
    recipe: Mapping[str, Any],
    cluster: Mapping[str, Any] | None = None,
    *,
    shape: Shape | None = None,
    plugins: Plugins | None = None,
    trace: Trace | None = None,
) -> Plan:
    """The plan of a recipe and a cluster file, both as mappings; by default with everything that is installed."""
    return build_plan(
        Recipe.model_validate(recipe),
        Cluster.model_validate(cluster or {}),
        shape or Shape(),
        plugins or Plugins(),
        trace,
    )


def problems_of(
    recipe: Mapping[str, Any],
    cluster: Mapping[str, Any] | None = None,
    *,
    shape: Shape | None = None,
    plugins: Plugins | None = None,
) -> tuple[Problem, ...]:
    """What is said of a recipe that cannot be planned; ``AssertionError`` if it can."""
    try:
        plan_of(recipe, cluster, shape=shape, plugins=plugins)
    except Refused as refused:
        return refused.problems
    raise AssertionError("a plan was made, where one should have been refused")


def option(process: PlannedProcess, flag: str) -> str:
    """The word after ``flag`` in the arguments; ``ValueError`` if the flag is not there."""
    return process.args[process.args.index(flag) + 1]


def held_ports(plan: Plan) -> Iterator[tuple[str, int, str]]:
    """Node, number and owner (``process.port``) of every port that the plan binds, blocks spelled out."""
    for process in plan.processes:
        for name, block in process.ports.items():
            if block.held:
                for number in range(block.first, block.first + block.width):
                    yield process.slots[0].node.name, number, f"{process.name}.{name}"


def assert_ports_disjoint(plan: Plan) -> None:
    """No number is held twice on a node; raises ``AssertionError`` that names both holders."""
    owners: dict[tuple[str, int], str] = {}
    for node, number, owner in held_ports(plan):
        first = owners.setdefault((node, number), owner)
        assert first == owner, f"port {number} on {node}: {first} and {owner}"
