"""Service ``etcd``: the key-value store that some routers and engines discover each other through."""

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


class EtcdConfig(ServiceConfig):
    """services: [{type: etcd}]"""


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [ServiceSpec(type="etcd", summary="etcd, one member on the head node", config=EtcdConfig)]


@hookimpl
def inferlane_service_layout(service: EtcdConfig, fleet: Fleet) -> ServiceLayout | None:
    ports = (Port(name="client", base=2379, public=True), Port(name="peer", base=2380))
    return ServiceLayout(parts=(Part(per="run", start="infra", ports=ports, dirs=(Dir(name="data"),)),))


@hookimpl
def inferlane_service_command(service: EtcdConfig, process: Process, run: Run) -> Command | None:
    listen = f"http://{process.node.host}:{process.ports['client']}"
    peer = f"http://{process.node.host}:{process.ports['peer']}"
    args = ["--data-dir", process.dirs["data"], "--listen-client-urls", listen, "--listen-peer-urls", peer]
    args += ["--advertise-client-urls", listen]
    return Command(
        program=("etcd",), args=tuple(args), twin=Twin(prefer_real=True, install="the Debian package etcd-server")
    )


@hookimpl
def inferlane_service_gates(service: EtcdConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    health = HttpCheck(url=f"http://{process.node.host}:{process.ports['client']}/health", text="true")
    return [Gate(name=f"{process.name} is up", before="before_workers", checks=(health,), timeout_s=300)]


@hookimpl
def inferlane_service_exports(service: EtcdConfig, process: Process, run: Run) -> Export | None:
    urls = [f"http://{peer.node.host}:{peer.ports['client']}" for peer in run.services if peer.type == "etcd"]
    return Export(env={"ETCD_ENDPOINTS": ",".join(urls)})
