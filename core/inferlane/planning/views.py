"""The read-only views that plugins see, built from drafts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from inferlane.errors import Refused
from inferlane.planning.drafts import Draft
from inferlane.values import Env, Peer, Problem, Process, RouterLayout, Upstream


def upstream(draft: Draft) -> Upstream:
    """The upstream that a serving worker process is."""
    assert draft.serving is not None
    assert draft.group is not None
    assert draft.worker is not None
    port = draft.serving.port
    address = f"{draft.node.host}:{draft.ports[port].first}" if port else None
    return Upstream(
        process=draft.name,
        role=draft.group.role,
        worker=draft.worker,
        node=draft.node,
        ranks=draft.serving.ranks,
        url=f"{draft.serving.scheme}://{address}" if address else None,
        address=address,
        ports=draft.numbers(public=True),
    )


def router_peer(drafts: Sequence[Draft], front: RouterLayout) -> Peer | None:
    """The router as others see it: the process that owns the public port, with all public ports of the router."""
    door = next((draft for draft in drafts if front.port in draft.numbers(public=True)), None)
    if door is None:
        return None
    ports = {name: number for draft in drafts for name, number in draft.numbers(public=True).items()}
    return Peer(
        type=door.owner.type,
        process=door.name,
        part=door.part.name,
        node=door.node,
        ports=ports,
        features=front.features,
    )


def endpoint(front: RouterLayout, router: Peer | None, upstreams: Sequence[Upstream], type_: str) -> str | None:
    """The one public URL; ``None`` where nothing is in front."""
    if front.front == "none":
        return None
    if front.front == "upstream":
        if len(upstreams) != 1:
            message = f"'{type_}' starts no router: exactly one worker must own the public port, {len(upstreams)} found"
            raise Refused([Problem(where="frontend.type", message=message)])
        return upstreams[0].url
    if router is None:
        message = f"router '{type_}' has no public port '{front.port}'; its plugin must mark it public"
        raise Refused([Problem(where="frontend.type", message=message)])
    return f"http://{router.node.host}:{router.ports[front.port]}"


def families(drafts: Sequence[Draft]) -> dict[str, tuple[Peer, ...]]:
    """Family to its members, with all their ports."""
    members: defaultdict[str, list[Peer]] = defaultdict(list)
    for draft in drafts:
        members[draft.family].append(draft.peer(public=False))
    return {family: tuple(peers) for family, peers in members.items()}


def process_view(draft: Draft, siblings: tuple[Peer, ...], mask: Env, args: Mapping[str, Any]) -> Process:
    """The process as its plugin sees it; nothing in it can be changed."""
    return Process(
        name=draft.name,
        kind=draft.kind,
        type=draft.owner.type,
        part=draft.part.name,
        role=draft.group.role if draft.group else None,
        worker=draft.worker,
        index=draft.index,
        count=draft.count,
        first_rank=draft.first_rank,
        slots=draft.slots,
        leader=draft.leader,
        ports=MappingProxyType(draft.numbers()),
        dirs=MappingProxyType(draft.dirs),
        beside=draft.beside,
        siblings=siblings,
        mask=MappingProxyType({name: value for name, value in mask.items() if value is not None}),
        args=MappingProxyType(dict(args)),
        kv_events=draft.group.kv_events if draft.group else None,
    )
