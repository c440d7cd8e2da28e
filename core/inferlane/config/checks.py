"""What a recipe's blocks must agree on, beyond what each says for itself."""

from __future__ import annotations

from collections.abc import Iterator

from inferlane.config.blocks import Raw
from inferlane.config.fields import variable_name, variable_value
from inferlane.config.paths import Path
from inferlane.config.recipe import Recipe
from inferlane.config.secrets import shown
from inferlane.config.translate import Complaint, worded


def disagreements(recipe: Recipe) -> Iterator[Complaint]:
    """Faults between blocks; none of them needs a plugin."""
    yield from _types(recipe)
    yield from _engines(recipe)
    yield from _colocation(recipe)
    yield from _environments(recipe)
    if not recipe.roles and not recipe.services:
        yield Complaint(("roles",), "missing; without roles or services there is nothing to run", True)


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
