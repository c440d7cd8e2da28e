"""A service that tells every worker two things: one that must hold, and one that a recipe may change."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    Export,
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
    return [ServiceSpec(type="case-kv-master", summary="two exports", config=ServiceConfig)]


@hookimpl
def inferlane_service_layout(service: ServiceConfig, fleet: Fleet) -> ServiceLayout | None:
    return ServiceLayout(parts=(Part(per="run", start="infra", ports=(Port(name="rpc", base=8700, public=True),)),))


@hookimpl
def inferlane_service_command(service: ServiceConfig, process: Process, run: Run) -> Command | None:
    args = ("--port", str(process.ports["rpc"]))
    return Command(program=("kv-master",), args=args, twin=Twin(module="inferlane.twins.openai"))


@hookimpl
def inferlane_service_exports(service: ServiceConfig, process: Process, run: Run) -> Export | None:
    if process.kind != "worker":
        return None
    master = next(peer for peer in run.services if peer.type == "case-kv-master")
    return Export(
        env={"KV_MASTER": f"{master.node.host}:{master.ports['rpc']}"}, env_defaults={"KV_LOCAL_HOST": process.node.ip}
    )
