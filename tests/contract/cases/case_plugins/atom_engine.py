"""An engine that binds a whole block of ports derived from one number, and picks network cards by the device mask.

A worker binds ``handshake`` plus one port per rank, so the block is as wide as tensor x data x pipeline. The engine
reads two of the vendor's mask variables to find the card beside each device; where the site masks with the third one,
the cards have to be named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from case_plugins.arguments import count
from inferlane.api import (
    ArgStyle,
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
    Twin,
    hookimpl,
)

PLUGIN_API = 1

DISAGGREGATED = "case-atom-pd"
READ_MASKS = frozenset({"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
OWNED = {
    "tensor-parallel-size": "use roles.*.gpus",
    "tp": "use roles.*.gpus",
    "host": "each worker listens on its node's address",
    "kv-transfer-config": "it follows the role and the placement",
}


class AtomConfig(EngineConfig):
    """engine: {type: case-atom, transport: rdma}"""

    transport: Literal["rdma", "tcp"] = Field(default="rdma", description="how KV cache travels")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    spec = EngineSpec(
        type="case-atom",
        summary="one node per worker, a block of ports",
        config=AtomConfig,
        speaks=(DISAGGREGATED, "openai"),
        max_nodes=1,
        owned_args=OWNED,
        style=ArgStyle(dashes=False),
    )
    return [spec]


@hookimpl
def inferlane_engine_layout(engine: AtomConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ports = [Port(name="http", base=6100, public=True), Port(name="engine", base=9000)]
    if group.protocol == DISAGGREGATED:
        width = group.gpus * count(group.args, "dp", "data-parallel-size") * count(group.args, "pp")
        ports.append(Port(name="handshake", base=25000, width=width))
    return EngineLayout(parts=(Part(devices="mask", ports=tuple(ports)),))


@hookimpl
def inferlane_engine_command(engine: AtomConfig, process: Process, run: Run) -> Command | None:
    args = ["--model", run.model, "--host", process.node.bind, "--server-port", str(process.ports["http"])]
    args += ["--port", str(process.ports["engine"]), "-tp", str(len(process.gpus))]
    problems: list[Problem] = []
    if run.protocol == DISAGGREGATED:
        transfer = {
            "kv_role": "kv_producer" if process.role == "prefill" else "kv_consumer",
            "kv_connector": "mooncake",
            "proxy_ip": process.node.ip,
            "handshake_port": process.ports["handshake"],
            **_cards(engine, process, run, problems),
        }
        args += ["--kv-transfer-config", json.dumps(transfer, separators=(",", ":"))]
    return Command(
        program=("python3", "-m", "atom.entrypoints.openai_server"),
        args=tuple(args),
        env={"ATOM_HOST_IP": process.node.ip},
        problems=tuple(problems),
        twin=Twin(module="inferlane.twins.openai"),
    )


def _cards(engine: AtomConfig, process: Process, run: Run, problems: list[Problem]) -> dict[str, str]:
    """The network cards, only where the engine could not find them itself."""
    if engine.transport == "tcp" or not process.mask or READ_MASKS & set(process.mask):
        return {}
    devices = run.site.rdma_devices
    if max(process.gpus) >= len(devices):
        message = f"{process.name}: the engine finds cards by a mask that is not set here; list rdma_devices"
        problems.append(Problem(where="cluster:rdma_devices", message=message, severity="warning"))
        return {}
    return {"ib_device": ",".join(devices[position] for position in process.gpus)}
