"""Binding: addresses, folders and device words replace their tokens. A pure text pass that needs no plugin."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from inferlane.errors import RunFault
from inferlane.values import Plan

TOKEN = re.compile(r"\{((?:n\d+|x_[a-z0-9_]+|run)\.[a-z0-9_]+)\}")
_ALLOWED = re.compile(r"[A-Za-z0-9 _./:\[\]%@+=,~-]*\Z")


def encode(plan: Plan) -> bytes:
    """The plan as JSON; the same plan gives the same bytes."""
    return msgspec.json.encode(plan)


def decode(text: bytes) -> Plan:
    """A plan from its JSON; raises ``msgspec.ValidationError``."""
    return msgspec.json.decode(text, type=Plan)


def tokens(plan: Plan) -> set[str]:
    """Every address, folder and device word that the plan waits for."""
    return set(TOKEN.findall(encode(plan).decode()))


def bindable(value: str) -> bool:
    """Whether ``value`` may stand for a token."""
    return _ALLOWED.match(value) is not None


def bind(plan: Plan, known: Mapping[str, str]) -> Plan:
    """``plan`` with each known token replaced; unknown ones stay.

    Values may hold address and path characters only, so that a token inside JSON inside an argument stays valid; others
    raise :class:`RunFault`.
    """
    if not known:
        return plan
    for name, value in known.items():
        if not bindable(value):
            raise RunFault(f"{name} is {value!r}: it may hold letters, digits, spaces and _./:[]%@+=,~- only")
    return decode(TOKEN.sub(lambda match: known.get(match[1], match[0]), encode(plan).decode()).encode())
