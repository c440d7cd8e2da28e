"""A decode engine that joins another engine's prefill by speaking a protocol of that family.

The other plugin is not edited: its engine speaks ``case-vllm-pd-<connector>`` for any connector, and the router here
accepts one of those words and says which public port the decode side must offer.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Accept,
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Part,
    Port,
    Process,
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Run,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

PROTOCOL = "case-vllm-pd-tilert"


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    spec = EngineSpec(
        type="case-tilert",
        summary="decode only",
        config=EngineConfig,
        roles=("decode",),
        speaks=(PROTOCOL,),
        max_nodes=1,
    )
    return [spec]


@hookimpl
def inferlane_engine_layout(engine: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ports = (Port(name="http", base=6100, public=True), Port(name="control", base=5400, public=True))
    return EngineLayout(parts=(Part(devices="mask", ports=ports),))


@hookimpl
def inferlane_engine_command(engine: EngineConfig, process: Process, run: Run) -> Command | None:
    args = ("--http-port", str(process.ports["http"]), "--ctrl-port", str(process.ports["control"]))
    return Command(program=("tilert-decode",), args=args, twin=Twin(module="inferlane.twins.openai"))


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accept = Accept(protocol=PROTOCOL, roles=(("prefill", "decode"),), ports={"decode": ("control",)})
    return [RouterSpec(type="case-tilert-router", summary="mixed engines", config=RouterConfig, accepts=(accept,))]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    return RouterLayout(parts=(Part(per="run", ports=(Port(name="http", base=8000, public=True),)),))


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args = ["--port", str(process.ports["http"])]
    for up in run.upstreams:
        control = [str(up.ports["control"])] if up.role == "decode" else []
        args += [f"--{up.role}", str(up.address), *control]
    return Command(program=("tilert-router",), args=tuple(args), twin=Twin(module="inferlane.twins.router"))
