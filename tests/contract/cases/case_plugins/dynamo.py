"""Workers without a URL: they register in a key-value store, and the router finds them there.

The router's layout asks for the store; nobody has to declare it. Upstreams still exist and are still counted, by
component instead of by URL.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from inferlane.api import (
    Accept,
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
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Rows,
    Run,
    ServiceRequest,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

PROTOCOL = "case-dynamo"
COMPONENTS = {"prefill": ("prefill",), "decode": ("backend", "decode"), "agg": ("backend",)}


class MockerConfig(EngineConfig):
    """engine: {type: case-mocker, speedup_ratio: 10}"""

    speedup_ratio: float = Field(default=100.0, gt=0, description="how much faster than the modelled device")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    return [EngineSpec(type="case-mocker", summary="found by discovery", config=MockerConfig, speaks=(PROTOCOL,))]


@hookimpl
def inferlane_engine_layout(engine: MockerConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ports = [Port(name="status", base=7500)]
    if group.role == "prefill":
        ports.append(Port(name="bootstrap", base=7200, public=True))
    return EngineLayout(parts=(Part(devices="mask", ports=tuple(ports)),), serving=Serving(port=None, health=None))


@hookimpl
def inferlane_engine_command(engine: MockerConfig, process: Process, run: Run) -> Command | None:
    args = ["--model-path", run.model, "--model-name", run.served_model_name]
    args += ["--speedup-ratio", f"{engine.speedup_ratio:g}", "--disaggregation-mode", str(process.role)]
    if "bootstrap" in process.ports:
        args += ["--bootstrap-ports", str(process.ports["bootstrap"])]
    return Command(
        program=("python3", "-m", "dynamo.mocker"),
        args=tuple(args),
        env={"DYN_SYSTEM_PORT": str(process.ports["status"])},
        twin=Twin(module="inferlane.twins.openai"),
    )


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (Accept(protocol=PROTOCOL),)
    return [RouterSpec(type="case-dynamo", summary="finds workers", config=RouterConfig, accepts=accepts)]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    http = Port(name="http", base=8000, public=True)
    return RouterLayout(parts=(Part(per="run", ports=(http,)),), services=(ServiceRequest(type="etcd"),))


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args = ("--http-host", process.node.bind, "--http-port", str(process.ports["http"]), "--discovery-backend", "etcd")
    return Command(program=("python3", "-m", "dynamo.frontend"), args=args, twin=Twin(module="inferlane.twins.router"))


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    checks = []
    for role in dict.fromkeys(up.role for up in run.upstreams):
        where = {"endpoint": ("generate",), "component": COMPONENTS[role]}
        wanted = sum(up.role == role for up in run.upstreams)
        rows = Rows(path="instances", where=where, at_least=wanted)
        checks.append(HttpCheck(url=f"{run.endpoint}/health", rows=rows))
    listed = Rows(path="data", where={"id": (run.served_model_name,)})
    checks.append(HttpCheck(url=f"{run.endpoint}/v1/models", rows=listed))
    return [Gate(name="every instance is registered", before="traffic", checks=tuple(checks))]
