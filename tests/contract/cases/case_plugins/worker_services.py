"""Two services that follow the workers: one instance beside each worker process, and a head with one per node."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    Dir,
    Fleet,
    Part,
    Port,
    Process,
    Run,
    ServiceConfig,
    ServiceLayout,
    ServiceSpec,
    Twin,
    hookimpl,
)

PLUGIN_API = 1


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [
        ServiceSpec(type="case-gms", summary="beside each worker process", config=ServiceConfig),
        ServiceSpec(type="case-ray", summary="a head, and one per worker node", config=ServiceConfig),
    ]


@hookimpl
def inferlane_service_layout(service: ServiceConfig, fleet: Fleet) -> ServiceLayout | None:
    if service.type == "case-gms":
        socket = Dir(name="sock", public=True)
        beside = Part(per="worker", on="workers", devices="mask", start="before_workers", dirs=(socket,))
        return ServiceLayout(parts=(beside,))
    head = Part(name="head", per="run", start="before_workers", ports=(Port(name="gcs", base=6379, public=True),))
    node = Part(name="node", per="node", on="workers", start="before_workers")
    return ServiceLayout(parts=(head, node))


@hookimpl
def inferlane_service_command(service: ServiceConfig, process: Process, run: Run) -> Command | None:
    twin = Twin(module="inferlane.twins.openai")
    if service.type == "case-gms":
        return Command(program=("gms",), args=("--socket-dir", process.dirs["sock"]), twin=twin)
    head = next(sibling for sibling in process.siblings if sibling.part == "head")
    if process.part == "head":
        return Command(program=("ray", "start", "--head"), args=("--port", str(process.ports["gcs"])), twin=twin)
    address = f"{head.node.ip}:{head.ports['gcs']}"
    return Command(program=("ray", "start"), args=("--address", address), twin=twin)
