"""Drafts: every process that will be planned, before it has ports or a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inferlane.planning.pairing import EngineChoice
from inferlane.planning.placement import Placed
from inferlane.planning.services import ServiceUse, external_node
from inferlane.plugins import Benchmark, Engine, Router, Service
from inferlane.values import (
    EngineLayout,
    Group,
    Layout,
    Node,
    Part,
    Peer,
    PortBlock,
    ProcessKind,
    RouterLayout,
    Serving,
    Slot,
)
from inferlane.values.configs import RouterConfig

Owner = Engine | Router | Service | Benchmark


class Draft(msgspec.Struct, frozen=True):
    """One process to be. ``family`` names those that see all of each other's ports; ``base``: its owner's name."""

    kind: ProcessKind
    owner: Owner
    config: Any
    layout: Layout
    part: Part
    name: str
    family: str
    where: str
    slots: tuple[Slot, ...]
    leader: Node
    group: Group | None = None
    worker: int | None = None
    index: int = 0
    count: int = 1
    first_rank: int = 0
    serving: Serving | None = None
    beside: str | None = None
    external: bool = False
    ports: dict[str, PortBlock] = msgspec.field(default_factory=dict)

    @property
    def node(self) -> Node:
        return self.slots[0].node

    @property
    def dirs(self) -> dict[str, str]:
        return {folder.name: f"{{{self.node.name}.shm}}/{self.name}-{folder.name}" for folder in self.part.dirs}

    def numbers(self, public: bool = False) -> dict[str, int]:
        """Port names to first numbers; the public ones only, if asked."""
        return {port.name: self.ports[port.name].first for port in self.part.ports if port.public or not public}

    def peer(self, public: bool) -> Peer:
        """How others see it: siblings all of it, everyone else what is public."""
        dirs = self.dirs
        shown = {folder.name: dirs[folder.name] for folder in self.part.dirs if folder.public or not public}
        return Peer(
            type=self.owner.type,
            name=self.family.removeprefix("service ") if self.kind == "service" else "",
            process=self.name,
            part=self.part.name,
            node=self.node,
            ports=self.numbers(public),
            dirs=shown,
            beside=self.beside,
        )


def worker_drafts(placed: Placed, choice: EngineChoice, layout: EngineLayout) -> list[Draft]:
    """The processes of one worker, part by part."""
    drafts: list[Draft] = []
    group = placed.group
    worker = f"{group.role}-{placed.worker}"
    for part in layout.parts:
        sets = _slot_sets(part, placed.slots)
        rank = 0
        for index, slots in enumerate(sets):
            tail = ("" if part.name == "main" else f"-{part.name}") + (f"-{index}" if len(sets) > 1 else "")
            serves = part.name == layout.serving.part and (index == 0 or layout.serving.on == "each")
            drafts.append(
                Draft(
                    kind="worker",
                    owner=choice.owner,
                    config=choice.config,
                    layout=layout,
                    part=part,
                    name=worker + tail,
                    family=f"worker {worker}",
                    where=f"roles.{group.role}",
                    slots=slots,
                    leader=placed.slots[0].node,
                    group=group,
                    worker=placed.worker,
                    index=index,
                    count=len(sets),
                    first_rank=rank,
                    serving=layout.serving if serves else None,
                )
            )
            rank += sum(len(slot.gpus) for slot in slots)
    return drafts


def _slot_sets(part: Part, slots: tuple[Slot, ...]) -> list[tuple[Slot, ...]]:
    if part.per == "worker":
        return [slots]
    if part.per in ("leader", "run"):
        return [(Slot(node=slots[0].node),)]
    if part.per == "rank":
        step = part.gpus_per_rank
        return [
            (Slot(node=slot.node, gpus=slot.gpus[start : start + step]),)
            for slot in slots
            for start in range(0, len(slot.gpus), step)
        ]
    return [(slot,) for slot in slots]


def router_drafts(
    owner: Router,
    config: RouterConfig,
    layout: RouterLayout,
    nodes: Sequence[Node],
    workers: Sequence[Draft],
    home: Node,
) -> list[Draft]:
    """The processes of the router; ``home`` is the node its single processes run on."""
    template = Draft(
        kind="router",
        owner=owner,
        config=config,
        layout=layout,
        part=Part(),
        name=owner.type,
        family=f"router {owner.type}",
        where="frontend",
        slots=(Slot(node=home),),
        leader=home,
    )
    return _around(template, nodes, workers, home)


def service_drafts(use: ServiceUse, nodes: Sequence[Node], workers: Sequence[Draft]) -> list[Draft]:
    """The processes of one service; an external one has a single draft on a node of its own, and no process."""
    external = use.config.external is not None
    home = external_node(use) if external else nodes[0]
    template = Draft(
        kind="service",
        owner=use.owner,
        config=use.config,
        layout=use.layout,
        part=Part(),
        name=use.name,
        family=f"service {use.name}",
        where=use.where,
        slots=(Slot(node=home),),
        leader=home,
        external=external,
    )
    return _around(template, [home] if external else nodes, [] if external else workers, home)


def _around(template: Draft, nodes: Sequence[Node], workers: Sequence[Draft], home: Node) -> list[Draft]:
    drafts: list[Draft] = []
    for part in template.layout.parts:
        base = template.name + ("" if part.name == "main" else f"-{part.name}")
        draft = msgspec.structs.replace(template, part=part)
        if part.per == "worker" and not template.external:
            beside = [w for w in workers if part.on in ("workers", "all", w.group.role if w.group else None)]
            drafts += [
                _clone(draft, f"{base}-{w.name}", w.slots, index, len(beside), beside=w.name)
                for index, w in enumerate(beside)
            ]
            continue
        where = _nodes_for(part, nodes, workers, home)
        for index, node in enumerate(where):
            tail = f"-{node.name}" if part.per == "node" else ""
            drafts.append(_clone(draft, base + tail, (Slot(node=node),), index, len(where)))
    return drafts


def _clone(
    draft: Draft, name: str, slots: tuple[Slot, ...], index: int, count: int, beside: str | None = None
) -> Draft:
    return msgspec.structs.replace(
        draft, name=name, slots=slots, leader=slots[0].node, index=index, count=count, beside=beside, ports={}
    )


def _nodes_for(part: Part, nodes: Sequence[Node], workers: Sequence[Draft], home: Node) -> list[Node]:
    if part.on == "head":
        found = [home]
    elif part.on == "all":
        found = list(nodes)
    else:
        chosen = [w for w in workers if part.on == "workers" or (w.group and w.group.role == part.on)]
        found = list(dict.fromkeys(slot.node for w in chosen for slot in w.slots))
    return found[:1] if part.per in ("run", "leader") else found
