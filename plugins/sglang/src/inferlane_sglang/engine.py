"""Engine ``sglang``: single and multi node workers, aggregated or as prefill and decode.

Flags, ports and environment as of SGLang 0.5.23. The plan gives ``--nccl-port``, ``--dist-init-addr`` and the bootstrap
port because the engine's own choices collide or race when several workers share a node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from inferlane.api import (
    Command,
    Counter,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Metrics,
    Part,
    Port,
    Problem,
    Process,
    Run,
    Serving,
    Twin,
    hookimpl,
)
from inferlane_sglang.arguments import DATA, argument, size
from inferlane_sglang.parallel import shape_problems

PLUGIN_API = 1

INSTALL = "it comes with the SGLang image, or by pip install sglang"
FLAGS = "inferlane_sglang:flags/launch_server.json"
OWNED = {
    "model-path": "it follows model.path",
    "model": "it follows model.path",
    "host": "each worker listens on its node's address",
    "port": "move it with ports: {sglang.http: N}",
    "nccl-port": "move it with ports: {sglang.nccl: N}",
    "dist-init-addr": "it follows the placement",
    "nnodes": "it follows roles.*.nodes and gpus",
    "node-rank": "it follows the placement",
    "disaggregation-mode": "it follows the role",
    "disaggregation-bootstrap-port": "move it with ports: {sglang.bootstrap: N}",
    "base-gpu-id": "the device mask follows the placement",
    "kv-events-config": "use kv_events of the role",
}
DEVICE_DERIVED_PORTS = 6
"""Ports that data-parallel attention derives from the dist-init port, before one more for each rank."""


class SglangConfig(EngineConfig):
    """engine: sglang, or {type: sglang, kv_events: true}"""

    kv_events: bool | Mapping[Literal["prefill", "decode", "agg"], Any] = Field(
        default=False, description="publish KV cache events: true, or per role true or {publisher, topic}"
    )


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    spec = EngineSpec(
        type="sglang",
        summary="SGLang",
        config=SglangConfig,
        speaks=("sglang-pd", "openai"),
        owned_args=OWNED,
        install=INSTALL,
    )
    return [spec]


@hookimpl
def inferlane_engine_layout(engine: SglangConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ranks = size(group.args, DATA) or 1
    ports = [Port(name="http", base=6100, scope="leader", public=True), Port(name="nccl", base=17500)]
    if group.nodes > 1 or argument(group.args, "enable-dp-attention"):
        ports.append(Port(name="dist_init", base=8300, scope="leader", width=DEVICE_DERIVED_PORTS + ranks))
    if group.role == "prefill":
        ports.append(Port(name="bootstrap", base=7200, scope="leader", public=True))
    if _kv_events(engine, group.role, group.kv_events) is not None:
        ports.append(Port(name="kv_events", base=5200, width=ranks, public=True))
    name = argument(group.args, "served-model-name")
    metrics = _metrics(group.args)
    return EngineLayout(
        parts=(
            Part(
                per="node",
                devices="mask",
                ports=tuple(ports),
                metrics=Metrics(port="http") if metrics else None,
                fatal_log=("Scheduler hit an exception",),  # managers/scheduler.py; the HTTP server may outlive it
                ready_log=("The server is fired up and ready to roll",),  # entrypoints/http_server.py
            ),
        ),
        serving=Serving(ranks=ranks, served=Counter(series="sglang:num_requests_total") if metrics else None),
        served_model_name=str(name) if name is not None else None,
        problems=(*shape_problems(group, fleet), *_wide(engine, group)),
    )


@hookimpl
def inferlane_engine_command(engine: SglangConfig, process: Process, run: Run) -> Command | None:
    ports = process.ports
    args = ["--model-path", run.model, "--served-model-name", run.served_model_name]
    args += ["--host", process.node.bind, "--port", str(ports["http"]), "--nccl-port", str(ports["nccl"])]
    consumed = ["served-model-name", "enable-metrics"]
    if process.role in ("prefill", "decode"):
        args += ["--disaggregation-mode", process.role]
        if argument(process.args, "disaggregation-mode") == process.role:
            consumed.append("disaggregation-mode")
    if "bootstrap" in ports:
        args += ["--disaggregation-bootstrap-port", str(ports["bootstrap"])]
    if "dist_init" in ports:
        args += ["--dist-init-addr", f"{process.leader.host}:{ports['dist_init']}"]
    if process.count > 1:
        args += ["--nnodes", str(process.count), "--node-rank", str(process.index)]
    events = _kv_events(engine, str(process.role), process.kv_events)
    if events is not None:
        endpoint = f"tcp://*:{ports['kv_events']}"  # the engine binds only what has a wildcard, and dials all else
        args += ["--kv-events-config", json.dumps({**events, "endpoint": endpoint}, separators=(",", ":"))]
    if _metrics(process.args):
        args.append("--enable-metrics")
    return Command(
        program=("python3", "-m", "sglang.launch_server"),
        args=tuple(args),
        consumed=tuple(consumed),
        env=_rank_environment(process, run),
        env_defaults={"SGLANG_CUDA_COREDUMP_BEFORE_CRASH": "0", "SGLANG_PYSPY_DUMP_BEFORE_CRASH": "0"},
        flags=FLAGS,
        twin=Twin(module="inferlane_sglang.twin", install=INSTALL),
    )


def _rank_environment(process: Process, run: Run) -> dict[str, str | None]:
    """With a router that addresses ranks, the decode side must ask prefill for the rank instead of guessing it."""
    aware = run.router is not None and "dp-aware" in run.router.features
    if aware and process.role in ("prefill", "decode") and (size(process.args, DATA) or 1) > 1:
        return {"SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK": "1"}
    return {}


def _metrics(args: Mapping[str, Any]) -> bool:
    return bool(argument(args, "enable-metrics", default=True))


def _wide(engine: SglangConfig, group: Group) -> list[Problem]:
    """The publisher binds an endpoint with a wildcard and dials every other, so there is no narrower way to say it."""
    if _kv_events(engine, group.role, group.kv_events) is None:
        return []
    where = f"roles.{group.role}.kv_events" if group.kv_events is not None else "engine.kv_events"
    message = "the engine publishes its cache events on every interface of the node; take it out if nobody reads them"
    return [Problem(where=where, severity="warning", message=message)]


def _kv_events(engine: SglangConfig, role: str, own: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The merged block of one role; ``None`` = not asked for."""
    wanted: Any = own
    if wanted is None:
        whole = engine.kv_events
        by_role = {str(name): block for name, block in whole.items()} if isinstance(whole, Mapping) else {}
        wanted = by_role.get(role) if isinstance(whole, Mapping) else whole or None
    if wanted is None or wanted is False:
        return None
    return {"publisher": "zmq", "topic": "kv-events", **(wanted if isinstance(wanted, Mapping) else {})}
