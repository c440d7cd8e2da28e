"""A worker of two programs: the engine on every node, and a sidecar on the first that takes the requests.

Both see one number: a port of scope ``leader`` that both parts name. The engine also wants a cluster of helpers (one
head, one per node) and a helper beside each of its processes; it asks for them by type.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Gate,
    Group,
    HttpCheck,
    Part,
    Port,
    Process,
    Run,
    ServiceRequest,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

GRPC = Port(name="grpc", base=15051, scope="leader")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    return [EngineSpec(type="case-sidecar", summary="engine and sidecar", config=EngineConfig, speaks=("case-dynamo",))]


@hookimpl
def inferlane_engine_layout(engine: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    sidecar = Part(name="sidecar", per="leader", ports=(GRPC, Port(name="status", base=7500)))
    return EngineLayout(
        parts=(Part(devices="mask", ports=(GRPC,)), sidecar),
        serving=Serving(part="sidecar", port=None, health=None),
        services=(ServiceRequest(type="case-ray"), ServiceRequest(type="case-gms")),
    )


@hookimpl
def inferlane_engine_command(engine: EngineConfig, process: Process, run: Run) -> Command | None:
    grpc = ("--grpc-port", str(process.ports["grpc"]))
    if process.part == "sidecar":
        return Command(program=("engine-sidecar",), args=grpc, twin=Twin(module="inferlane.twins.openai"))
    head = next(peer for peer in run.services if peer.type == "case-ray" and peer.part == "head")
    helper = next(peer for peer in run.services if peer.type == "case-gms" and peer.beside == process.name)
    args = (*grpc, "--ray", f"{head.node.ip}:{head.ports['gcs']}", "--memory-socket", f"{helper.dirs['sock']}/gms.sock")
    return Command(program=("engine",), args=args, twin=Twin(module="inferlane.twins.openai"))


@hookimpl
def inferlane_engine_gates(engine: EngineConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    if process.part != "sidecar":
        return None
    live = HttpCheck(url=f"http://{process.node.host}:{process.ports['status']}/live")
    return [Gate(name=f"{process.name} is live", before="traffic", checks=(live,))]
