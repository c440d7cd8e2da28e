"""Hand-made plans for tests of what runs plans, without recipes, planner or plugins."""

from __future__ import annotations

import sys
from typing import Any

from inferlane.values import (
    TEARDOWN_TIERS,
    Counter,
    Gate,
    HttpCheck,
    Node,
    Phase,
    Plan,
    PlannedProcess,
    PlannedUpstream,
    PortBlock,
    ProcessKind,
    Slot,
)

HEAD = Node(name="n0")
PORT = 6100
PUBLIC = 8000

_PHASES: dict[str, Phase] = {"worker": "workers", "router": "router", "service": "after_router", "benchmark": "traffic"}


def process(name: str, *argv: str, kind: ProcessKind = "worker", node: Node = HEAD, **fields: Any) -> PlannedProcess:
    """A process that runs ``argv``; everything else may be given by field name."""
    phase = fields.pop("phase", _PHASES[kind])
    defaults: dict[str, Any] = {"type": "handmade", "part": "main", "tier": TEARDOWN_TIERS[phase]}
    slots = (Slot(node=node),)
    return PlannedProcess(name=name, kind=kind, program=argv, phase=phase, slots=slots, **{**defaults, **fields})


def shell(name: str, script: str, **fields: Any) -> PlannedProcess:
    """A process that runs a shell script."""
    return process(name, "sh", "-c", script, **fields)


def server(name: str, port: int = PORT, options: tuple[str, ...] = (), **fields: Any) -> PlannedProcess:
    """A small server on its node's address; see :mod:`inferlane.testing.small_server`."""
    node = fields.get("node", HEAD)
    argv = (sys.executable, "-m", "inferlane.testing.small_server", node.bind, str(port), *options)
    return process(name, *argv, ports={"http": PortBlock(first=port)}, **fields)


def health(name: str, port: int = PORT, node: Node = HEAD, before: Phase = "traffic", **fields: Any) -> Gate:
    """The gate of one server."""
    check = HttpCheck(url=f"http://{node.host}:{port}/health")
    return Gate(name=f"{name} is healthy", before=before, checks=(check,), **fields)


def upstream(name: str, port: int = PORT, node: Node = HEAD, told: bool = True) -> PlannedUpstream:
    """A server that takes requests; ``told``: its counter tells who served."""
    served = Counter(series="served_total") if told else None
    return PlannedUpstream(process=name, role="agg", worker=0, url=f"http://{node.host}:{port}", served=served)


def plan(*processes: PlannedProcess, **fields: Any) -> Plan:
    """A plan of one node unless ``nodes`` says otherwise."""
    defaults: dict[str, Any] = {
        "name": "handmade",
        "model": "model",
        "served_model_name": "model",
        "protocol": "openai",
        "nodes": (HEAD,),
        "gpus_per_node": 0,
        "gates": (),
        "start_timeout_s": 30,
        "probe_interval_s": 0.1,
        "probe_timeout_s": 2.0,
    }
    return Plan(processes=processes, **{**defaults, **fields})


def served(*more: PlannedProcess, options: tuple[str, ...] = (), **fields: Any) -> Plan:
    """One worker that owns the public port, its gate, the endpoint, and ``more`` processes."""
    defaults: dict[str, Any] = {
        "gates": (health("worker-0", PUBLIC),),
        "endpoint": f"http://{HEAD.host}:{PUBLIC}",
        "upstreams": (upstream("worker-0", PUBLIC),),
    }
    return plan(server("worker-0", PUBLIC, options), *more, **{**defaults, **fields})
