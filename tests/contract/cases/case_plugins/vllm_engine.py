"""An engine whose workers change shape with their arguments and with the connector.

* Several data-parallel ranks over several nodes: every node serves its own ranks ("hybrid"), so a worker has as many
  upstreams as nodes.
* One model copy over several nodes: only the first node serves, the others are headless.
* The connector decides which protocol the prefill and decode roles speak, and which ports they need.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from case_plugins.arguments import argument, count
from inferlane.api import (
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Part,
    Port,
    Problem,
    Process,
    Run,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

MORIIO = "case-vllm-pd-moriio"
NIXL = "case-vllm-pd-nixl"

OWNED = {
    "host": "each worker listens on its node's address",
    "headless": "it follows the placement",
    "device-ids": "use engine.set_visible_devices",
    "nnodes": "it follows roles.*.nodes and gpus",
    "node-rank": "it follows the placement",
}
OWNED_WITH_RANKS = {
    "data-parallel-size-local": "it follows data-parallel-size and the placement",
    "data-parallel-start-rank": "it follows data-parallel-size and the placement",
    "data-parallel-rpc-port": "move it with ports: {case-vllm.dp_rpc: N}",
}


class VllmConfig(EngineConfig):
    """engine: {type: case-vllm, connector: moriio}"""

    connector: str | None = Field(default="nixl", description="moves KV cache between prefill and decode")
    set_visible_devices: bool = Field(default=False, description="mask devices instead of passing --device-ids")


@dataclass(frozen=True)
class Shape:
    """Parallel sizes of one worker. ``copy``: GPUs of one model copy. ``hybrid``: every node serves its own ranks."""

    ranks: int
    copy: int
    gpus_here: int

    @property
    def hybrid(self) -> bool:
        return self.ranks > 1 and self.copy <= self.gpus_here


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    speaks = ("case-vllm-pd-*", "openai")
    return [
        EngineSpec(type="case-vllm", summary="changes shape", config=VllmConfig, speaks=speaks, owned_args=OWNED),
    ]


@hookimpl
def inferlane_engine_layout(engine: VllmConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    if group.protocol != _spoken(engine, group.role):
        return None
    shape = _shape(group)
    return EngineLayout(
        parts=(Part(ports=_ports(group, shape), devices="mask" if engine.set_visible_devices else "argv"),),
        serving=Serving(
            on="each" if shape.hybrid else "leader", ranks=shape.gpus_here // shape.copy if shape.hybrid else 1
        ),
        served_model_name=argument(group.args, "served-model-name"),
        owned_args=OWNED_WITH_RANKS if shape.ranks > 1 else {},
        problems=_problems(group, shape),
    )


def _spoken(engine: VllmConfig, role: str) -> str:
    return "openai" if role == "agg" else f"case-vllm-pd-{engine.connector}"


def _shape(group: Group) -> Shape:
    copy = count(group.args, "tensor-parallel-size") * count(group.args, "pipeline-parallel-size")
    here = min(group.gpus, group.gpus_per_node)
    return Shape(ranks=count(group.args, "data-parallel-size"), copy=copy, gpus_here=here)


def _ports(group: Group, shape: Shape) -> tuple[Port, ...]:
    ports = [Port(name="http", base=6100, scope="process" if shape.hybrid else "leader", public=True)]
    if group.nodes == 1 and group.protocol != MORIIO:
        ports.append(Port(name="scan", base=20000, width=50))
    if group.nodes > 1 and not shape.hybrid:
        ports.append(Port(name="master", base=29500, scope="leader"))
    if shape.ranks > 1:
        ports.append(Port(name="dp_rpc", base=8400, scope="leader"))
    if group.protocol == MORIIO:
        ports += [
            Port(name=name, base=base, width=shape.gpus_here)
            for name, base in (("handshake", 26000), ("notify", 27000))
        ]
    if group.protocol == NIXL:
        ports.append(Port(name="side", base=5400, width=shape.ranks, public=True))
    return tuple(ports)


def _problems(group: Group, shape: Shape) -> tuple[Problem, ...]:
    need = shape.ranks * shape.copy
    if need == group.gpus:
        return ()
    message = f"data {shape.ranks} x tensor and pipeline {shape.copy} = {need} GPUs, but each worker has {group.gpus}"
    return (Problem(where=f"roles.{group.role}.args", message=message),)


@hookimpl
def inferlane_engine_command(engine: VllmConfig, process: Process, run: Run) -> Command | None:
    args = [run.model, "--served-model-name", run.served_model_name, *_serving_args(process)]
    if not engine.set_visible_devices:
        args += ["--device-ids", ",".join(str(position) for position in process.gpus)]
    args += _transfer_args(process, run)
    env = {
        "VLLM_HOST_IP": process.node.ip,
        "VLLM_PORT": str(process.ports["scan"]) if "scan" in process.ports else None,
    }
    if run.protocol == NIXL:
        env |= {"VLLM_NIXL_SIDE_CHANNEL_HOST": process.node.ip}
        env |= {"VLLM_NIXL_SIDE_CHANNEL_PORT": str(process.ports["side"])}
    return Command(
        program=("vllm", "serve"),
        args=tuple(args),
        consumed=("served-model-name",),
        env=env,
        twin=Twin(module="inferlane.twins.openai"),
    )


def _serving_args(process: Process) -> list[str]:
    """Who listens, and how the processes of one worker find each other."""
    ports, ranks = process.ports, count(process.args, "data-parallel-size")
    listen = ["--host", process.node.bind, "--port", str(ports["http"])]
    if process.count == 1:
        return listen
    if "master" in ports:
        meet = ["--master-addr", process.leader.ip, "--master-port", str(ports["master"])]
        meet += ["--nnodes", str(process.count), "--node-rank", str(process.index)]
        return (listen if process.index == 0 else ["--headless"]) + meet
    here = ranks // process.count
    meet = ["--data-parallel-hybrid-lb", "--data-parallel-size-local", str(here)]
    meet += ["--data-parallel-start-rank", str(process.index * here)]
    meet += ["--data-parallel-address", process.leader.ip, "--data-parallel-rpc-port", str(ports["dp_rpc"])]
    return listen + meet


def _transfer_args(process: Process, run: Run) -> list[str]:
    config: dict[str, object]
    if run.protocol == NIXL:
        config = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    elif run.protocol == MORIIO:
        assert run.router is not None, "only a router with a discovery port accepts this protocol"
        config = {
            "kv_connector": "MoRIIOConnector",
            "kv_role": "kv_producer" if process.role == "prefill" else "kv_consumer",
            "kv_connector_extra_config": {
                "proxy_ip": run.router.node.ip,
                "proxy_ping_port": str(run.router.ports["discovery"]),
                "host_ip": process.node.ip,
                "http_port": str(process.ports["http"]),
                "handshake_port": str(process.ports["handshake"]),
                "notify_port": str(process.ports["notify"]),
            },
        }
    else:
        return []
    return ["--kv-transfer-config", json.dumps(config, separators=(",", ":"))]
