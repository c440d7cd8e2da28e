"""Service ``nats``: the message bus that some routers and engines send requests or events through."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    Dir,
    Export,
    Fleet,
    Gate,
    HttpCheck,
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


class NatsConfig(ServiceConfig):
    """services: [{type: nats}]"""


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [ServiceSpec(type="nats", summary="NATS with JetStream, on the head node", config=NatsConfig)]


@hookimpl
def inferlane_service_layout(service: NatsConfig, fleet: Fleet) -> ServiceLayout | None:
    ports = (Port(name="client", base=4222, public=True), Port(name="monitor", base=8222, public=True))
    return ServiceLayout(parts=(Part(per="run", start="infra", ports=ports, dirs=(Dir(name="data"),)),))


@hookimpl
def inferlane_service_command(service: NatsConfig, process: Process, run: Run) -> Command | None:
    args = ["-a", process.node.bind, "-p", str(process.ports["client"]), "-js", "-sd", process.dirs["data"]]
    args += ["-m", str(process.ports["monitor"])]
    return Command(
        program=("nats-server",),
        args=tuple(args),
        twin=Twin(prefer_real=True, install="the Debian package nats-server"),
    )


@hookimpl
def inferlane_service_gates(service: NatsConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    health = HttpCheck(url=f"http://{process.node.host}:{process.ports['monitor']}/healthz")
    return [Gate(name=f"{process.name} is up", before="before_workers", checks=(health,), timeout_s=300)]


@hookimpl
def inferlane_service_exports(service: NatsConfig, process: Process, run: Run) -> Export | None:
    urls = [f"nats://{peer.node.host}:{peer.ports['client']}" for peer in run.services if peer.type == "nats"]
    return Export(env={"NATS_SERVER": ",".join(urls)})
