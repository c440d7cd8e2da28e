"""The run as plugins see it, and the finished plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from inferlane.config import Cluster, Recipe
from inferlane.planning import views
from inferlane.planning.commands import CommandBuilder
from inferlane.planning.drafts import Draft
from inferlane.planning.pairing import Pairing
from inferlane.planning.traces import CORE, owner_words, tell_gates, tell_run
from inferlane.plugins import Owner, Router
from inferlane.values import (
    PHASES,
    Gate,
    HttpCheck,
    Node,
    Phase,
    Plan,
    PlannedProcess,
    PlannedUpstream,
    RouterLayout,
    Run,
    Site,
    TcpCheck,
)
from inferlane.values.configs import RouterConfig


class RouterChoice(msgspec.Struct, frozen=True):
    """The router of a run: its plugin, its block, its layout for the agreed protocol."""

    owner: Router
    config: RouterConfig
    layout: RouterLayout


def run_view(
    recipe: Recipe,
    cluster: Cluster,
    drafts: Sequence[Draft],
    pairing: Pairing,
    router: RouterChoice,
    gpus_per_node: int,
) -> Run:
    """The run around each process."""
    upstreams = tuple(views.upstream(draft) for draft in drafts if draft.serving)
    peer = views.router_peer([draft for draft in drafts if draft.kind == "router"], router.layout)
    path = recipe.model.path
    model = path.removeprefix("hf:")
    names = [
        pairing.layouts[role].served_model_name for role in ("prefill", "agg", "decode") if role in pairing.layouts
    ]
    return Run(
        name=recipe.name,
        model=model if path.startswith("hf:") else "{run.model}",
        served_model_name=next(filter(None, names), None) or model.rstrip("/").rpartition("/")[2],
        protocol=pairing.fleet.protocol,
        fleet=pairing.fleet,
        upstreams=upstreams,
        router=peer,
        router_type=router.owner.type,
        worker_nodes=tuple(dict.fromkeys(s.node for d in drafts if d.kind == "worker" for s in d.slots)),
        services=tuple(draft.peer(public=True) for draft in drafts if draft.kind == "service"),
        endpoint=views.endpoint(router.layout, peer, upstreams, router.owner.type),
        site=Site(gpus_per_node=gpus_per_node, rdma_devices=tuple(cluster.rdma_devices)),
        start_timeout_s=int(recipe.health_check.max_attempts * recipe.health_check.interval_seconds),
    )


def assemble(
    drafts: Sequence[Draft], nodes: Sequence[Node], router: RouterChoice, builder: CommandBuilder, recipe: Recipe
) -> Plan:
    """The plan, before plugins validate it."""
    run = builder.run
    processes: list[PlannedProcess] = []
    gates: list[Gate] = []
    before: Phase = "router" if router.layout.ready_workers_first else "traffic"
    for draft in drafts:
        process, own = builder.process(draft)
        health = _health_gate(draft, before)
        gates += [*own, *health]
        if builder.trace:
            tell_gates(builder.trace, draft.name, own, owner_words(draft.owner))
            tell_gates(builder.trace, draft.name, health, CORE)
        if process is not None:
            processes.append(process)
    listed = router.owner.gates(router.config, run)
    gates += listed
    if builder.trace:
        tell_gates(builder.trace, "", listed, owner_words(router.owner))
        tell_run(builder.trace, recipe, builder.cluster, run, builder.accelerator.config.type)
    return Plan(
        name=run.name,
        model=recipe.model.path.removeprefix("hf:"),
        served_model_name=run.served_model_name,
        protocol=run.protocol,
        nodes=tuple(nodes),
        gpus_per_node=run.site.gpus_per_node,
        processes=tuple(processes),
        gates=tuple(sorted(gates, key=lambda gate: PHASES.index(gate.before))),
        start_timeout_s=run.start_timeout_s,
        silence_s=float(recipe.health_check.silence_seconds),
        endpoint=run.endpoint,
        upstreams=_upstreams(drafts, run),
        benchmark=recipe.benchmark,
        router=recipe.frontend,
        addresses={node.name: node.bind for node in nodes},
        uses_devices=any(draft.part.devices != "none" for draft in drafts),
    )


def versions(owners: Sequence[Owner]) -> Mapping[str, str]:
    """Distribution to version of everyone who took part."""
    return dict(sorted({owner.distribution: owner.version for owner in owners}.items()))


def _upstreams(drafts: Sequence[Draft], run: Run) -> tuple[PlannedUpstream, ...]:
    served = {draft.name: draft.serving.served for draft in drafts if draft.serving}
    return tuple(
        PlannedUpstream(
            process=up.process, role=up.role, worker=up.worker, ranks=up.ranks, url=up.url, served=served[up.process]
        )
        for up in run.upstreams
    )


def _health_gate(draft: Draft, before: Phase) -> list[Gate]:
    if draft.serving is None or draft.serving.health is None or draft.serving.port is None:
        return []
    up = views.upstream(draft)
    path = draft.serving.health
    check = TcpCheck(address=str(up.address)) if path == "tcp" else HttpCheck(url=f"{up.url}{path}")
    return [Gate(name=f"{draft.name} is healthy", before=before, checks=(check,))]
