"""A service beside the prefill workers of each node, ready in two stages.

It accepts engines before they start, and has registered its memory with the devices only after they did: two gates that
block two phases. Each prefill worker is told the socket of the instance on its own node, nobody else is told anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from inferlane.api import (
    Command,
    Dir,
    Export,
    File,
    FileCheck,
    Fleet,
    Gate,
    LogCheck,
    Need,
    Part,
    Peer,
    Port,
    Problem,
    Process,
    Run,
    ServiceConfig,
    ServiceLayout,
    ServiceSpec,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

ADDRESS = "UMBP_STANDALONE_ADDRESS"
START = '''\
"""Starts the server that lies beside the importable client library, so that both are of one version."""
import importlib.util, os, pathlib, sys

home = pathlib.Path(importlib.util.find_spec("mori").origin).parent
os.environ["LD_LIBRARY_PATH"] = f"{home}:{os.environ.get('LD_LIBRARY_PATH', '')}"
os.execv(home / "umbp_standalone_server", ["umbp_standalone_server", *sys.argv[1:]])
'''


class UmbpConfig(ServiceConfig):
    """services: [{type: case-umbp, capacity_bytes: 1500000000000}]"""

    capacity_bytes: int = Field(default=1_500_000_000_000, gt=0, description="host memory of the cache, bytes")


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [ServiceSpec(type="case-umbp", summary="host memory beside prefill", config=UmbpConfig)]


@hookimpl
def inferlane_service_layout(service: UmbpConfig, fleet: Fleet) -> ServiceLayout | None:
    problems = []
    if not fleet.workers("prefill"):
        problems.append(Problem(where="services", message="case-umbp stands beside prefill workers; there are none"))
    for group in fleet.groups:
        if group.role == "prefill" and group.nodes > 1:
            message = f"case-umbp serves prefill workers of one node; here each has {group.nodes}"
            problems.append(Problem(where="roles.prefill.gpus", message=message))
    part = Part(
        per="node",
        on="prefill",
        start="before_workers",
        critical="startup",
        dirs=(Dir(name="sock", public=True),),
        ports=(Port(name="metrics", base=9092),),
    )
    return ServiceLayout(parts=(part,), problems=tuple(problems))


@hookimpl
def inferlane_service_command(service: UmbpConfig, process: Process, run: Run) -> Command | None:
    address = f"unix://{_socket(process)}"
    return Command(
        program=("python3", f"{run.files}/{process.name}/start.py"),
        args=(address,),
        files=(File(name="start.py", text=START),),
        env={
            ADDRESS: address,
            "UMBP_DRAM_CAPACITY": str(service.capacity_bytes),
            "UMBP_STANDALONE_METRICS_PORT": str(process.ports["metrics"]),
        },
        env_defaults={"UMBP_DRAM_USE_HUGEPAGES": "0"},
        needs=(Need(kind="memory_bytes", value=str(2 * service.capacity_bytes)),),
        twin=Twin(module="inferlane.twins.openai"),
    )


@hookimpl
def inferlane_service_gates(service: UmbpConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    broken = (_log(process, "hipHostRegister failed"),)
    socket = FileCheck(process=process.name, path=_socket(process))
    accepts = Gate(
        name=f"{process.name} accepts engines",
        before="workers",
        checks=(socket, _log(process, "data plane")),
        fail_on=broken,
        timeout_s=1800,
    )
    registered = Gate(
        name=f"{process.name} has registered its memory",
        before="traffic",
        checks=(_log(process, "host memory registered for GPU access"),),
        fail_on=broken,
        timeout_s=1800,
    )
    return [accepts, registered]


@hookimpl
def inferlane_service_exports(service: UmbpConfig, process: Process, run: Run) -> Export | None:
    if process.role != "prefill":
        return None
    here = next(peer for peer in run.services if peer.type == "case-umbp" and peer.node == process.node)
    return Export(env={ADDRESS: f"unix://{_socket(here)}"})


def _socket(instance: Process | Peer) -> str:
    return f"{instance.dirs['sock']}/sa.grpc.sock"


def _log(process: Process, pattern: str) -> LogCheck:
    return LogCheck(process=process.name, pattern=pattern)
