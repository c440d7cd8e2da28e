"""One function builds the environment of every kind of process: layers from low to high, ``None`` removes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Literal

import msgspec

from inferlane.values import Env, Problem, Role

Trace = Callable[[str, str, str, "str | None"], None]
"""Called as ``trace(process, subject, origin, value)`` for each layer, lowest first."""


class Layer(msgspec.Struct, frozen=True):
    """``origin``: a recipe path for ``user`` layers, else words for a person. ``forced`` layers beat the recipe."""

    origin: str
    values: Env
    strength: Literal["default", "site", "user", "forced", "mask"] = "default"


def merge_environment(
    process: str, layers: Sequence[Layer], problems: list[Problem], trace: Trace | None = None
) -> dict[str, str | None]:
    """The final variables of ``process``; contradictions are appended to ``problems``."""
    merged: dict[str, str | None] = {}
    user: dict[str, str] = {}
    site: dict[str, str] = {}
    forced: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.values.items():
            differs = name in merged and merged[name] != value
            if layer.strength == "site":
                site[name] = layer.origin
            elif layer.strength == "user":
                if differs and name in user:
                    problems.append(_role_wins(name, user[name], layer.origin))
                user[name] = layer.origin
            elif layer.strength == "forced":
                if differs and name in forced:
                    problems.append(
                        Problem(message=f"{process}: {layer.origin} and {forced[name]} set {name} differently")
                    )
                elif differs and name in user:
                    problems.append(_refused(name, layer.origin, user[name]))
                elif differs and name in site:
                    problems.append(_site_loses(name, layer.origin, site[name]))
                forced[name] = layer.origin
            elif layer.strength == "mask" and differs and name in user:
                problems.append(_mask_wins(name, user[name]))
            merged[name] = value
            if trace:
                trace(process, f"env.{name}", layer.origin, value)
    return merged


def _role_wins(name: str, low: str, high: str) -> Problem:
    message = f"{name} is also set in {low}, differently; this one wins"
    return Problem(where=f"{high}.{name}", severity="warning", message=message)


def _refused(name: str, origin: str, where: str) -> Problem:
    """Without the name of the process, so that a line of the recipe is told of once and not for each worker."""
    return Problem(where=f"{where}.{name}", message=f"the plan sets {name} itself ({origin}); remove it here")


def _site_loses(name: str, origin: str, where: str) -> Problem:
    message = f"the plan sets {name} itself for some processes ({origin}); this has no effect on them"
    return Problem(where=f"{where}.{name}", severity="warning", message=message)


def _mask_wins(name: str, where: str) -> Problem:
    message = "the plan sets device masks itself; this has no effect"
    return Problem(where=f"{where}.{name}", severity="warning", message=message)


def split(merged: Mapping[str, str | None], mask: Env) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variables to set (without the mask, which is per slot) and names to remove."""
    env = {name: value for name, value in merged.items() if value is not None and name not in mask}
    return env, tuple(sorted(name for name, value in merged.items() if value is None))


@functools.cache
def fabric_prefixes() -> tuple[str, ...]:
    """How the names of variables begin that both ends of a transfer must agree on: data, as libraries own them."""
    text = resources.files(__package__).joinpath("fabric_prefixes.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[str, ...])


def one_sided(sides: Mapping[Role, Env], everywhere: Env) -> Iterator[Problem]:
    """Warnings for fabric variables that only one of prefill and decode sets. ``sides``: role to its environment."""
    pairs: tuple[tuple[Role, Role], ...] = (("prefill", "decode"), ("decode", "prefill"))
    for role, other in pairs:
        if role not in sides or other not in sides:
            return
        for name, value in sides[role].items():
            if value is not None and name.startswith(fabric_prefixes()) and name not in {*sides[other], *everywhere}:
                message = f"{name} is set for {role} and not for {other}; both ends of a transfer usually need it"
                yield Problem(where=f"roles.{role}.env.{name}", severity="warning", message=message)
