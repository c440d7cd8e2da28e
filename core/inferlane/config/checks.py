"""What a recipe's blocks must agree on, beyond what each says for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferlane.config.blocks import Raw
from inferlane.config.cluster import Cluster
from inferlane.config.directives import directive_faults, site_directive_faults
from inferlane.config.fields import variable_name, variable_value
from inferlane.config.mounts import mount_faults
from inferlane.config.paths import Path
from inferlane.config.recipe import Recipe
from inferlane.config.secrets import shown
from inferlane.config.translate import Complaint, worded

_ARGUMENT = re.compile(r"-{0,2}[A-Za-z0-9][A-Za-z0-9._-]*")
_APART = 100
"""Ports of one kind follow each other on a node."""


def disagreements(recipe: Recipe) -> Iterator[Complaint]:
    """Faults between blocks; none of them needs a plugin."""
    yield from _types(recipe)
    yield from _engines(recipe)
    yield from _phases(recipe)
    yield from _colocation(recipe)
    yield from _environments(recipe)
    yield from _arguments(recipe)
    yield from _no_nul(recipe)
    yield from _ports(recipe)
    yield from directive_faults(recipe)
    tables = {"container_mounts": recipe.container_mounts}
    yield from mount_faults(tables, {"extra_mount": recipe.extra_mount})
    if not recipe.roles and not recipe.services:
        yield Complaint(("roles",), "missing; without roles or services there is nothing to run", True)


def site_disagreements(cluster: Cluster) -> Iterator[Complaint]:
    """The same for a cluster file."""
    yield from _same_numbers(cluster.ports)
    yield from site_directive_faults(cluster)
    yield from mount_faults({"default_mounts": cluster.default_mounts})


def _types(recipe: Recipe) -> Iterator[Complaint]:
    if "type" not in recipe.frontend:
        yield Complaint(("frontend", "type"), f"missing; name the router ({_installed('routers')}), or none", True)
    elif not isinstance(recipe.frontend["type"], str):
        yield Complaint(("frontend", "type"), "must be text, the name of a router")
    for index, service in enumerate(recipe.services):
        if not isinstance(service["type"], str):
            yield Complaint(("services", index, "type"), "must be text, the name of a service type")
    if recipe.benchmark is not None and not isinstance(recipe.benchmark["type"], str):
        yield Complaint(("benchmark", "type"), "must be text, the name of a benchmark type")


def _engines(recipe: Recipe) -> Iterator[Complaint]:
    blocks = [(("engine",), recipe.engine)]
    blocks += [(("roles", role, "engine"), block.engine) for role, block in recipe.roles.items()]  # type: ignore[misc]
    for path, engine in blocks:
        if engine is not None and not isinstance(engine.get("type"), str):
            yield Complaint((*path, "type"), f"missing; name the engine ({_installed('engines')})", True)
    own = [role for role, block in recipe.roles.items() if block.engine is not None]
    if own and recipe.engine is not None:
        yield Complaint(("roles", own[0], "engine"), "the recipe names an engine, and this role too; keep one", True)
    elif own and len(own) < len(recipe.roles):
        bare = next(role for role in recipe.roles if role not in own)
        yield Complaint(("roles", bare, "engine"), f"missing; role {own[0]} names its engine, so every role must", True)
    elif recipe.roles and not own and recipe.engine is None:
        yield Complaint(("engine",), f"missing; name the engine of the roles ({_installed('engines')})", True)


def _phases(recipe: Recipe) -> Iterator[Complaint]:
    """Prefill and decode are two halves; agg is the whole."""
    halves = [role for role in ("prefill", "decode") if role in recipe.roles]
    if halves and "agg" in recipe.roles:
        message = (
            f"does the work of prefill and decode, so it cannot stand beside {' and '.join(halves)}; keep one kind"
        )
        yield Complaint(("roles", "agg"), message, True)
    elif len(halves) == 1:
        other = "decode" if halves == ["prefill"] else "prefill"
        message = f"does half of the work and there is no {other} role; add roles.{other}, or call this one agg"
        yield Complaint(("roles", halves[0]), message, True)


def _arguments(recipe: Recipe) -> Iterator[Complaint]:
    """Keys of ``args`` are names of flags; a value in the key would become part of the name."""
    blocks: list[tuple[Path, Any]] = [(("roles", role, "args"), block.args) for role, block in recipe.roles.items()]
    blocks.append((("frontend", "args"), recipe.frontend.get("args")))
    for path, args in blocks:
        for key in args if isinstance(args, dict) else ():
            if _ARGUMENT.fullmatch(key):
                continue
            name, _, value = key.replace("=", " ").partition(" ")
            instead = f"write {name}: {value.strip()}" if name and value.strip() else "write name: value"
            yield Complaint((*path, key), f"'{key}' is not the name of an argument; {instead}", True)


def _no_nul(recipe: Recipe) -> Iterator[Complaint]:
    """No program can be given a NUL. Blocks with fields of their own are checked there."""
    blocks: list[tuple[Path, Any]] = [(("roles", role, "args"), block.args) for role, block in recipe.roles.items()]
    blocks += [(("frontend",), recipe.frontend), (("services",), recipe.services), (("benchmark",), recipe.benchmark)]
    while blocks:
        path, value = blocks.pop()
        if isinstance(value, dict):
            blocks += [((*path, key), item) for key, item in value.items() if key != "env"]
        elif isinstance(value, list | tuple):
            blocks += [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, str) and "\0" in value:
            yield Complaint(path, "holds a NUL, which no program can be given; take it out")


def _ports(recipe: Recipe) -> Iterator[Complaint]:
    yield from _same_numbers(recipe.ports)
    public = recipe.frontend.get("port")
    for name, number in recipe.ports.items():
        if number == public and name.partition(".")[0] != recipe.frontend.get("type"):
            message = f"{number} is the public port too (frontend.port); give one of them another number"
            yield Complaint(("ports", name), message)


def _same_numbers(ports: Mapping[str, int]) -> Iterator[Complaint]:
    first: dict[int, str] = {}
    for name, number in ports.items():
        other = first.setdefault(number, name)
        if other != name:
            message = f"{number} is the number of {other} too; give each its own, {_APART} or more apart"
            yield Complaint(("ports", name), message)


def _colocation(recipe: Recipe) -> Iterator[Complaint]:
    for role, block in recipe.roles.items():
        if block.nodes != "colocate":
            continue
        if role != "decode" or "prefill" not in recipe.roles:
            yield Complaint(("roles", role, "nodes"), "colocate is for decode, beside a prefill role; write a number")
            continue
        for name in ("prefill", "decode"):
            if recipe.roles[name].gpus is None:
                message = "missing; decode shares the nodes of prefill, so both must say the GPUs of one worker"
                yield Complaint(("roles", name, "gpus"), message, True)


def _environments(recipe: Recipe) -> Iterator[Complaint]:
    """The environments inside blocks that plugins read; one rule for all of them."""
    blocks: list[tuple[Path, Raw]] = [(("frontend",), recipe.frontend)]
    blocks += [(("services", index), block) for index, block in enumerate(recipe.services)]
    if recipe.benchmark is not None:
        blocks.append((("benchmark",), recipe.benchmark))
    for path, block in blocks:
        environment = block.get("env", {})
        if not isinstance(environment, dict):
            yield Complaint((*path, "env"), "must be a mapping (NAME: text lines)")
            continue
        for name, value in environment.items():
            for check, what in ((variable_name, name), (variable_value, value)):
                try:
                    check(what)
                except ValueError as error:
                    where = (*path, "env", name)
                    yield Complaint(where, worded(str(error), where, what, shown(where, what)), check is variable_name)


def _installed(kind: str) -> str:
    """Names from the metadata of what is installed; nothing is imported, and only a message needs it."""
    from inferlane.plugins.discovery import discover

    names = sorted({candidate.type for candidate in discover().candidates if f"{candidate.kind}s" == kind})
    return f"installed: {', '.join(names)}" if names else "none is installed"
