"""What a recipe wants: an engine for each role, and how many workers of which size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from inferlane.config import Recipe, parse_block
from inferlane.config.fields import REFERENCE
from inferlane.errors import PluginFault, Refused, UsageFault
from inferlane.planning.bind import bindable
from inferlane.planning.pairing import EngineChoice
from inferlane.planning.placement import Wish, check_totals, nodes_per_worker
from inferlane.planning.services import switched_off
from inferlane.plugins import Plugins
from inferlane.plugins.registry import MissingPlugin
from inferlane.values import ROLES, Group, Problem


class PluginBlock(NamedTuple):
    """A block of the recipe that a plugin reads, and its recipe path."""

    kind: Literal["engine", "router", "service", "benchmark"]
    block: Mapping[str, Any]
    where: str


def check_blocks(recipe: Recipe, plugins: Plugins) -> None:
    """Every block that a plugin reads must hold; the faults of all of them come at once. Plugins that are missing are a
    :class:`PluginFault` where nothing else is wrong.
    """
    roles = {role: {"engine": block.engine} for role, block in recipe.roles.items()}
    document: dict[str, Any] = {"engine": recipe.engine, "roles": roles, "frontend": recipe.frontend}
    document |= {"services": list(recipe.services), "benchmark": recipe.benchmark}
    missing: dict[str, MissingPlugin] = {}
    problems = block_problems(blocks_of(document), plugins, missing)
    if problems:
        raise Refused([*problems, *(Problem(where=where, message=str(fault)) for where, fault in missing.items())])
    if missing:
        one_each = {fault.install: str(fault) for fault in reversed(missing.values())}
        raise PluginFault("\n".join(reversed(one_each.values())))


def blocks_of(document: Mapping[str, Any]) -> list[PluginBlock]:
    """The plugins' blocks of a document that may be wrong elsewhere; what is no block is left out."""
    roles = document.get("roles")
    roles = roles if isinstance(roles, Mapping) else {}
    own = {role: block.get("engine") for role, block in roles.items() if isinstance(block, Mapping)}
    services = document.get("services")
    found = [
        _block("engine", document.get("engine"), "engine"),
        *(_block("engine", engine, f"roles.{role}.engine") for role, engine in own.items()),
        _block("router", document.get("frontend"), "frontend"),
        *(
            _block("service", {"type": "generic", **block}, f"services[{index}]")
            for index, block in enumerate(services if isinstance(services, list) else ())
            if isinstance(block, Mapping) and not switched_off(block)
        ),
        _block("benchmark", document.get("benchmark"), "benchmark"),
    ]
    return [item for item in found if item is not None]


def _block(kind: Literal["engine", "router", "service", "benchmark"], block: Any, where: str) -> PluginBlock | None:
    named = {"type": block} if isinstance(block, str) else block
    ok = isinstance(named, Mapping) and isinstance(named.get("type"), str)
    return PluginBlock(kind, named, where) if ok else None


def block_problems(
    blocks: Iterable[PluginBlock], plugins: Plugins, missing: dict[str, MissingPlugin] | None = None
) -> list[Problem]:
    """The faults of all blocks. ``missing`` gets the plugins that are not installed, by recipe path; without it, all
    that cannot be had here are passed over.
    """
    problems: list[Problem] = []
    for kind, block, where in blocks:
        try:
            parse_block(plugins.owner(kind, block["type"]).parse, block, where)
        except Refused as refused:
            problems += refused.problems
        except UsageFault as unknown:
            problems.append(Problem(where=f"{where}.type", message=str(unknown)))
        except MissingPlugin as fault:
            if missing is not None:
                missing[f"{where}.type"] = fault
        except PluginFault:
            if missing is not None:
                raise
    return problems


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
