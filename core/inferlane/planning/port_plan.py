"""Ports for all drafts: pinned blocks first, then in plan order; leader blocks once per worker."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence

import msgspec

from inferlane.config.paths import join
from inferlane.config.source import CLUSTER
from inferlane.errors import Refused
from inferlane.planning.drafts import Draft
from inferlane.planning.ports import PortClashError, PortMap
from inferlane.planning.shape import Shape
from inferlane.values import Port, PortBlock, Problem, RouterLayout


def assign_ports(
    drafts: Sequence[Draft],
    front: RouterLayout,
    public: int,
    bases: Mapping[str, int],
    shape: Shape,
    site: Collection[str] = (),
) -> list[Draft]:
    """The drafts with their port blocks. ``bases``: ``type.port`` to another base; ``site``: those of them that the
    cluster file says. Clashes raise :class:`Refused`.
    """
    ports = PortMap(shape.in_use, shape.shared_ports)
    found: dict[int, dict[str, PortBlock]] = {index: {} for index in range(len(drafts))}
    leaders: dict[tuple[str, str], PortBlock] = {}
    problems: list[Problem] = []
    todo = [
        (index, port, public_number(drafts[index], port, front, public))
        for index in found
        for port in drafts[index].part.ports
    ]
    for index, port, pin in sorted(todo, key=lambda item: not (item[1].pinned or item[2] is not None)):
        draft = drafts[index]
        moved = msgspec.structs.replace(port, base=bases.get(f"{draft.owner.type}.{port.name}", port.base))
        if draft.external:  # it listens already, and not on a node of ours
            found[index][port.name] = PortBlock(first=moved.base, width=port.width, held=False)
            continue
        key = (draft.family, port.name)
        if port.scope == "leader" and key in leaders:
            found[index][port.name] = msgspec.structs.replace(leaders[key], held=False)
            continue
        node = draft.leader if port.scope == "leader" else draft.node
        where = "frontend.port" if pin is not None else _where(draft, port, bases, site)
        try:
            first = ports.take(node.name, moved, f"{draft.name}.{port.name}", pin, where)
        except PortClashError as clash:
            problems.append(clash.problem)
            continue
        found[index][port.name] = PortBlock(first=first, width=port.width)
        if port.scope == "leader":
            leaders[key] = found[index][port.name]
    if problems:
        raise Refused(problems)
    return [
        msgspec.structs.replace(draft, ports={p.name: found[i][p.name] for p in draft.part.ports})
        for i, draft in enumerate(drafts)
    ]


def public_number(draft: Draft, port: Port, front: RouterLayout, public: int) -> int | None:
    """The public number, for the one port that takes it."""
    if draft.kind == "router" and front.front == "router" and port.public and port.name == front.port:
        return public
    if front.front == "upstream" and draft.serving is not None and port.name == draft.serving.port:
        return public
    return None


def idle_overrides(
    stated: Mapping[str, int], drafts: Sequence[Draft], front: RouterLayout, public: int
) -> list[Problem]:
    """Numbers of the recipe that change nothing."""
    ports = [(draft, port) for draft in drafts for port in draft.part.ports]
    known = {f"{draft.owner.type}.{port.name}" for draft, port in ports}
    free = {
        f"{draft.owner.type}.{port.name}"
        for draft, port in ports
        if not port.pinned and public_number(draft, port, front, public) is None
    }
    problems = []
    for name in sorted(set(stated) - free):
        near = difflib.get_close_matches(name, sorted(known), 1)
        hint = (f"did you mean '{near[0]}'? " if near else "") + f"there are {', '.join(sorted(known))}"
        message = f"this run has no such port, so it has no effect; {hint}"
        if name in known:
            message = f"has no effect: another key sets it, such as frontend.port ({public})"
        problems.append(Problem(where=join(("ports", name)), severity="warning", message=message))
    return problems


def _where(draft: Draft, port: Port, bases: Mapping[str, int], site: Collection[str]) -> str:
    name = f"{draft.owner.type}.{port.name}"
    if name not in bases:
        return draft.where
    return (CLUSTER if name in site else "") + join(("ports", name))
