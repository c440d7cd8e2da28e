"""Which of the project's own distributions adds a type: a data table, so that a missing one gets its pip command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files

from inferlane.plugins.kinds import Kind

Table = Mapping[str, Mapping[str, list[str]]]


def first_party_table() -> Table:
    """Distribution to kind to types."""
    table: Table = json.loads(files("inferlane.plugins").joinpath("first_party.json").read_text(encoding="utf-8"))
    return table


def first_party(kind: Kind, type: str, table: Table) -> str | None:
    """The distribution of the project that adds this type, or ``None``."""
    return next((name for name, kinds in table.items() if type in kinds.get(kind, ())), None)


def first_party_types(kind: Kind, table: Table) -> tuple[str, ...]:
    """Every type of this kind that the project's own distributions add, installed or not."""
    return tuple(sorted({word for kinds in table.values() for word in kinds.get(kind, ())}))
