"""The six kinds of plugins: their entry-point groups, catalogue hooks, Spec and configuration classes, by name."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["engine", "router", "accelerator", "service", "benchmark", "launcher"]


class KindFacts(NamedTuple):
    """``spec`` is a name in :mod:`inferlane.values`, ``config`` one in :mod:`inferlane.values.configs`.

    Names, not classes: listing plugins must not import pydantic.
    """

    group: str
    catalogue: str
    spec: str
    config: str


def _facts(kind: str) -> KindFacts:
    name = kind.capitalize()
    return KindFacts(f"inferlane.{kind}s", f"inferlane_{kind}s", f"{name}Spec", f"{name}Config")


KINDS: dict[Kind, KindFacts] = {
    "engine": _facts("engine"),
    "router": _facts("router"),
    "accelerator": _facts("accelerator"),
    "service": _facts("service"),
    "benchmark": _facts("benchmark"),
    "launcher": _facts("launcher"),
}
"""In the order of listings."""

BUILTIN = "inferlane"
"""The distribution whose types are the built-in ones."""
