"""What a recipe wants: an engine for each role, and how many workers of which size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inferlane.config import Recipe, parse_block
from inferlane.config.fields import REFERENCE
from inferlane.errors import Refused, UsageFault
from inferlane.planning.bind import bindable
from inferlane.planning.pairing import EngineChoice
from inferlane.planning.placement import Wish, check_totals, nodes_per_worker
from inferlane.planning.services import switched_off
from inferlane.plugins import Owner, Plugins
from inferlane.values import ROLES, Group, Problem


def check_blocks(recipe: Recipe, plugins: Plugins) -> None:
    """Every block that a plugin reads must hold; the faults of all of them come at once."""
    blocks: list[tuple[Callable[[str], Owner], Mapping[str, Any], str]] = []
    if recipe.engine is not None:
        blocks.append((plugins.engine, recipe.engine, "engine"))
    own = [(role, block.engine) for role, block in recipe.roles.items() if block.engine is not None]
    blocks += [(plugins.engine, block, f"roles.{role}.engine") for role, block in own]
    blocks.append((plugins.router, recipe.frontend, "frontend"))
    services = enumerate(recipe.services)
    blocks += [(plugins.service, block, f"services[{i}]") for i, block in services if not switched_off(block)]
    if recipe.benchmark is not None:
        blocks.append((plugins.benchmark, recipe.benchmark, "benchmark"))
    problems: list[Problem] = []
    for find, block, where in blocks:
        try:
            parse_block(find(str(block["type"])).parse, block, where)
        except Refused as refused:
            problems += refused.problems
        except UsageFault as unknown:
            problems.append(Problem(where=f"{where}.type", message=str(unknown)))
    if problems:
        raise Refused(problems)


def check_model(path: str) -> list[Problem]:
    """The model's path must fit into command lines; a variable of the cluster file may still be unset."""
    if not path.removeprefix("hf:").strip():
        return [Problem(where="model.path", message="is empty; name a folder, an alias, or hf:ORGANISATION/NAME")]
    if bindable(REFERENCE.sub(r"\1", path)):
        return []
    return [Problem(where="model.path", message=f"{path!r} may hold letters, digits, spaces and _./:[]%@+=,~- only")]


def choose_engines(recipe: Recipe, plugins: Plugins, problems: list[Problem]) -> dict[str, EngineChoice]:
    """The engine of each role: its own block, else the recipe's."""
    choices: dict[str, EngineChoice] = {}
    parsed: dict[int, EngineChoice] = {}
    for role, block in recipe.roles.items():
        own = block.engine is not None
        raw = block.engine if block.engine is not None else recipe.engine
        if raw is None:
            message = "no engine; name one here for all roles, or in each role"
            raise Refused([Problem(where="engine", message=message)])
        if id(raw) not in parsed:
            owner = plugins.engine(str(raw["type"]))
            parsed[id(raw)] = EngineChoice(
                owner, parse_block(owner.parse, raw, f"roles.{role}.engine" if own else "engine")
            )
        choices[role] = parsed[id(raw)]
        spec = choices[role].owner.spec
        if role not in spec.roles:
            message = f"engine '{spec.type}' has no role '{role}'; it has {', '.join(spec.roles)}"
            problems.append(Problem(where=f"roles.{role}", message=message))
    return choices


def choose_sizes(recipe: Recipe, gpus_per_node: int, problems: list[Problem]) -> list[Wish]:
    """Each role's workers, their GPUs and nodes; totals that cannot hold are appended to ``problems``."""
    wishes: list[Wish] = []
    for role in ROLES:
        block = recipe.roles.get(role)
        if block is None:
            continue
        stated = block.nodes if isinstance(block.nodes, int) else None
        gpus = block.gpus if block.gpus is not None else _derived(role, stated, block.workers, gpus_per_node, problems)
        group = Group(
            role=role,
            workers=block.workers,
            gpus=gpus,
            nodes=nodes_per_worker(gpus, gpus_per_node),
            gpus_per_node=gpus_per_node,
            args=block.args,
            kv_events={} if block.kv_events is True else block.kv_events or None,
        )
        wishes.append(Wish(group, stated))
    problems += check_totals(wishes, gpus_per_node, recipe.resources.spread_workers)
    return wishes


def _derived(role: str, stated: int | None, workers: int, gpus_per_node: int, problems: list[Problem]) -> int:
    if stated is None:
        message = "state gpus: the role shares the nodes of another, so they cannot be derived"
        raise Refused([Problem(where=f"roles.{role}.gpus", message=message)])
    gpus, rest = divmod(stated * gpus_per_node, workers)
    if rest or not gpus:
        message = f"{stated} node(s) of {gpus_per_node} GPUs do not divide among {workers} workers; state gpus"
        problems.append(Problem(where=f"roles.{role}.workers", message=message))
    return max(gpus, 1)
