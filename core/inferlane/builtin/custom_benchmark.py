"""Benchmark ``custom``: the recipe's own command, told where everything is by its environment."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from inferlane.api import (
    BenchmarkConfig,
    BenchmarkSpec,
    Command,
    Node,
    Peer,
    Run,
    Summary,
    Twin,
    Upstream,
    hookimpl,
)
from inferlane.builtin.benchmark_keys import unused
from inferlane.builtin.custom_results import judged
from inferlane.builtin.load_points import summarise
from inferlane.builtin.unsupported import Unsupported
from inferlane.load.spec import NOTHING, SYNTHETIC

PLUGIN_API = 1

SYNTHETIC_OUTPUTS = (f"{SYNTHETIC}/{NOTHING}", f"{SYNTHETIC}/sa-bench_isl_*_osl_*/results_concurrency_*.json")

UNUSED = {
    "use_chat_template": "a command of your own decides that itself; hand it over in benchmark.env",
    "aiperf_server_metrics": "AIPERF_SERVER_METRICS_URLS is always set",
    "stream_output": "the command's output is always in its log, and shown by 'inferlane logs'",
}


class CustomConfig(BenchmarkConfig):
    """The block of ``type: custom``."""

    type: Literal["custom"] = Field(default="custom", description="which plugin reads this block")
    command: str = Field(
        description="text run by 'bash -o pipefail -c', exactly as written; its exit status is the benchmark's"
    )
    outputs: tuple[str, ...] = Field(
        default=(),
        description="globs below SRT_RESULT_DIR; each must match a file after success, and counts in JSON are checked",
    )
    max_error_share: float = Field(
        default=0.0, ge=0, le=1, description="failed requests that a result with counts may have"
    )
    container_image: str | None = Field(default=None, description="image of the command; default: the model's")
    use_chat_template: bool | None = Field(default=None, description="has no effect on a command of your own")
    aiperf_server_metrics: bool | None = Field(default=None, description="has no effect: the URLs are always given")
    stream_output: bool | None = Field(default=None, description="has no effect: output is always in the log")
    placement: Unsupported = Field(default=None, description="not supported yet")
    client_placement: Unsupported = Field(default=None, description="not supported yet")

    @field_validator("command")
    @classmethod
    def _says_something(cls, command: str) -> str:
        if not command.strip():
            raise PydanticCustomError(
                "empty", "is empty; write the command, or use type 'manual' to serve until stopped"
            )
        return command

    @field_validator("outputs")
    @classmethod
    def _stays_below(cls, outputs: tuple[str, ...]) -> tuple[str, ...]:
        for glob in outputs:
            if glob.startswith("/") or not {"", ".", "..", "**"}.isdisjoint(glob.split("/")):
                message = "'{glob}' is no path below the results folder; write for example 'bench/*.json'"
                raise PydanticCustomError("outputs", message, {"glob": glob})
        return outputs


@hookimpl
def inferlane_benchmarks() -> Sequence[BenchmarkSpec]:
    """The one type."""
    return [BenchmarkSpec(type="custom", summary="a command of your own", config=CustomConfig)]


@hookimpl
def inferlane_benchmark_command(benchmark: CustomConfig, run: Run) -> Command:
    """``bash -c``, not ``bash -lc``: a login profile would bring paths, proxies and modules that nobody declared, and
    may differ between nodes. A command that needs a profile sources it. With ``pipefail``, as otherwise
    ``client | tee log`` would succeed whatever the client did.

    A rehearsal runs a small synthetic load through the endpoint instead.
    """
    options = {"model": run.served_model_name, "results": f"{run.results}/{SYNTHETIC}"}
    if run.endpoint:
        options["endpoint"] = run.endpoint
    return Command(
        program=("bash", "-o", "pipefail", "-c"),
        args=(benchmark.command,),
        env_defaults=environment(run),
        image=benchmark.container_image,
        outputs=(*benchmark.outputs, *SYNTHETIC_OUTPUTS),
        twin=Twin(module="inferlane.load.synthetic", options=options),
        problems=tuple(unused(benchmark, UNUSED)),
    )


@hookimpl
def inferlane_benchmark_summary(benchmark: CustomConfig, outputs: Mapping[str, str]) -> Summary | None:
    """The files that it names, and what they say; nothing named: the exit status decides.

    A rehearsal leaves the results of the synthetic load instead, and these are then judged.
    """
    synthetic = {name: text for name, text in outputs.items() if name.startswith(f"{SYNTHETIC}/")}
    points = {name: text for name, text in synthetic.items() if name.endswith(".json")}
    if points:
        return summarise(points, ())
    if synthetic or not benchmark.outputs:
        return None
    return judged(outputs, benchmark.outputs, benchmark.max_error_share)


def environment(run: Run) -> Mapping[str, str]:
    """What the command is told. Lists are separated by commas, in order, with repetitions, so that positions agree."""
    told = {
        "SRT_GPUS_PER_NODE": str(run.site.gpus_per_node),
        "SRT_WORKER_NODES": ",".join(node.hostname for node in run.worker_nodes),
        "SRT_JOB_ID": run.id,
        "SRT_LOG_DIR": run.logs,
        "SRT_RESULT_DIR": run.results,
        "SRT_MODEL_NAME": run.served_model_name,
        **_front(run),
        **_services(run.services),
    }
    leaders = _leaders(run.upstreams)
    for role, upstreams in leaders.items():
        told[f"SRT_{role.upper()}_IPS"] = ",".join(upstream.node.ip for upstream in upstreams)
        addresses = [upstream.address for upstream in upstreams if upstream.address]
        if len(addresses) == len(upstreams):
            told[f"SRT_{role.upper()}_ENDPOINTS"] = ",".join(addresses)
    urls = [f"{upstream.url}/metrics" for upstreams in leaders.values() for upstream in upstreams if upstream.url]
    return {**told, "AIPERF_SERVER_METRICS_URLS": ",".join(urls)} if urls else told


def _front(run: Run) -> Mapping[str, str]:
    kind = run.router_type or (run.router.type if run.router else "")
    told = {"SRTCTL_FRONTEND_TYPE": kind} if kind else {}
    if run.endpoint is None:
        return told
    # The core writes every endpoint as scheme://host:port; where a proxy or a worker owns it, only it knows the port.
    host, _, port = run.endpoint.partition("://")[2].rpartition(":")
    return {**told, "SRT_ENDPOINT": run.endpoint, "SRT_FRONTEND_HOST": host, "SRT_FRONTEND_PORT": port}


def _leaders(upstreams: Iterable[Upstream]) -> Mapping[str, Sequence[Upstream]]:
    """Role to the first upstream of each of its workers."""
    seen: dict[tuple[str, int], Upstream] = {}
    for upstream in upstreams:
        seen.setdefault((upstream.role, upstream.worker), upstream)
    roles: defaultdict[str, list[Upstream]] = defaultdict(list)
    for (role, _), upstream in seen.items():
        roles[role].append(upstream)
    return roles


def _services(peers: Iterable[Peer]) -> Mapping[str, str]:
    nodes: defaultdict[str, dict[Node, None]] = defaultdict(dict)
    for peer in peers:
        nodes[re.sub(r"[^A-Z0-9]", "_", (peer.name or peer.type).upper())][peer.node] = None
    told: dict[str, str] = {}
    for name, found in nodes.items():
        told[f"SRT_SERVICE_{name}_NODES"] = ",".join(node.hostname for node in found)
        told[f"SRT_SERVICE_{name}_IPS"] = ",".join(node.ip for node in found)
        told[f"SRT_SERVICE_{name}_NODE_COUNT"] = str(len(found))
    return told
