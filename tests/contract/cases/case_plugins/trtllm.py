"""An engine that is one MPI step over all nodes of a worker, and is told its arguments by a file.

Its router is told the workers by a file too. In files, as in arguments, addresses are handles that binding replaces, so
that an IPv6 address gets its brackets without the plugin knowing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from inferlane.api import (
    Accept,
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    File,
    Fleet,
    Gate,
    Group,
    HttpCheck,
    Mpi,
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

PROTOCOL = "case-trtllm-serve"
FATAL = (r"^Rank\d+ Task exit code: (?!0$)\d+$", "Failed to initialize executor")


class ServeConfig(RouterConfig):
    """frontend: {type: case-trtllm-serve, server_config_extra: {...}}"""

    server_config_extra: dict[str, Any] = Field(default={}, description="more keys of the router's file")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    return [EngineSpec(type="case-trtllm", summary="one MPI step", config=EngineConfig, speaks=(PROTOCOL, "openai"))]


@hookimpl
def inferlane_engine_layout(engine: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ports = (Port(name="http", base=6100, public=True), Port(name="master", base=29500))
    return EngineLayout(parts=(Part(per="worker", devices="mask", mpi=Mpi(), ports=ports, fatal_log=FATAL),))


@hookimpl
def inferlane_engine_command(engine: EngineConfig, process: Process, run: Run) -> Command | None:
    options = File(name="engine.yaml", text=json.dumps(dict(process.args), sort_keys=True))
    listen = ("--host", process.leader.bind, "--port", str(process.ports["http"]))
    return Command(
        program=("trtllm-llmapi-launch", "trtllm-serve"),
        args=(run.model, *listen, "--config", f"{run.files}/{process.name}/{options.name}"),
        consumed=("*",),
        files=(options,),
        env={"TRTLLM_EPLB_SHM_NAME": f"moe_{run.id}_{process.name}"},
        env_defaults={"MASTER_ADDR": process.leader.ip, "MASTER_PORT": str(process.ports["master"])},
        twin=Twin(module="inferlane.twins.openai"),
    )


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (Accept(protocol=PROTOCOL, roles=(("prefill", "decode"),)),)
    return [RouterSpec(type="case-trtllm-serve", summary="told by a file", config=ServeConfig, accepts=accepts)]


@hookimpl
def inferlane_router_layout(router: ServeConfig, fleet: Fleet) -> RouterLayout | None:
    http = Port(name="http", base=8000, public=True)
    return RouterLayout(parts=(Part(per="run", ports=(http,)),), ready_workers_first=True)


@hookimpl
def inferlane_router_command(router: ServeConfig, process: Process, run: Run) -> Command | None:
    document = {
        "hostname": process.node.bind,
        "port": process.ports["http"],
        "context_servers": _servers(run, "prefill"),
        "generation_servers": _servers(run, "decode"),
        **router.server_config_extra,
    }
    file = File(name="serve.yaml", text=json.dumps(document))
    return Command(
        program=("trtllm-serve", "disaggregated"),
        args=("--config", f"{run.files}/{process.name}/{file.name}"),
        files=(file,),
        twin=Twin(module="inferlane.twins.router"),
    )


def _servers(run: Run, role: str) -> dict[str, Any]:
    addresses = [up.address for up in run.upstreams if up.role == role]
    return {"num_instances": len(addresses), "urls": addresses}


@hookimpl
def inferlane_router_gates(router: ServeConfig, run: Run) -> Sequence[Gate] | None:
    return [Gate(name="router serves", before="traffic", checks=(HttpCheck(url=f"{run.endpoint}/health"),))]
