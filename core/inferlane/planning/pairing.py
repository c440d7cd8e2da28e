"""Which protocol router and engines speak with each other, by what both declare, never by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from inferlane.errors import Refused
from inferlane.planning.layout_check import check_layout
from inferlane.plugins import Engine, Router
from inferlane.values import Accept, EngineLayout, Fleet, Group, Problem
from inferlane.values.configs import EngineConfig, RouterConfig


class EngineChoice(msgspec.Struct, frozen=True):
    """The engine of one role, with its parsed block."""

    owner: Engine
    config: EngineConfig


class Pairing(msgspec.Struct, frozen=True):
    """The agreed protocol (in ``fleet``) and each role's layout for it."""

    fleet: Fleet
    layouts: Mapping[str, EngineLayout]


def pair(router: Router, config: RouterConfig, engines: Mapping[str, EngineChoice], groups: Sequence[Group]) -> Pairing:
    """The first protocol that the router accepts and that every role can be laid out for; else :class:`Refused`."""
    reasons: list[str] = []
    for accept, protocol in _proposals(router, engines, groups):
        spoken = [msgspec.structs.replace(group, protocol=protocol) for group in groups]
        fleet = Fleet(groups=tuple(spoken), protocol=protocol)
        layouts = _layouts(accept, engines, fleet, reasons)
        if layouts is not None:
            return Pairing(fleet, layouts)
    raise Refused([_no_pair(router, engines, groups, reasons)])


def _proposals(
    router: Router, engines: Mapping[str, EngineChoice], groups: Sequence[Group]
) -> Iterator[tuple[Accept, str]]:
    roles = tuple(group.role for group in groups)
    for accept in router.spec.accepts:
        if roles and roles not in accept.roles:
            continue
        if accept.protocol != "*":
            yield accept, accept.protocol
        elif roles:
            yield from ((accept, protocol) for protocol in engines[roles[0]].owner.spec.speaks)
        else:
            yield accept, ""


def _layouts(
    accept: Accept, engines: Mapping[str, EngineChoice], fleet: Fleet, reasons: list[str]
) -> dict[str, EngineLayout] | None:
    layouts: dict[str, EngineLayout] = {}
    for group in fleet.groups:
        choice = engines[group.role]
        if not any(fnmatchcase(fleet.protocol, spoken) for spoken in choice.owner.spec.speaks):
            return None
        layout = choice.owner.layout(choice.config, group, fleet)
        if layout is None:
            return None
        check_layout(choice.owner, layout)
        offered = {port.name for part in layout.parts for port in part.ports if port.public}
        lacking = [name for name in accept.ports.get(group.role, ()) if name not in offered]
        if lacking:
            reasons.append(f"{fleet.protocol}: role {group.role} offers no port {'/'.join(lacking)}")
            return None
        layouts[group.role] = layout
    return layouts


def _no_pair(
    router: Router, engines: Mapping[str, EngineChoice], groups: Sequence[Group], reasons: Sequence[str]
) -> Problem:
    speak = ", ".join(
        sorted({f"{choice.owner.type} ({'/'.join(choice.owner.spec.speaks)})" for choice in engines.values()})
    )
    takes = ", ".join(
        f"{accept.protocol} for {'+'.join(roles) or 'no roles'}"
        for accept in router.spec.accepts
        for roles in accept.roles
    )
    have = "+".join(group.role for group in groups) or "no roles"
    message = f"router '{router.type}' takes {takes}; the recipe has {have}"
    message += f" of engine {speak}, which as configured speaks none of them" if speak else ""
    return Problem(where="frontend.type", message="; ".join([message, *reasons]))
