"""Routers ``sglang-router`` and ``smg``, and ``sglang``: one worker on the public port.

Facts measured on sglang-router 0.3.2 and smg 1.13.0: both answer ``/health`` 200 with nothing behind them, and drop a
worker for good that does not answer within the startup timeout. So the workers come first, and the gate compares names.

``frontend.type: sglang`` means two things in users' files. With one aggregate worker and no ``policy`` it is the direct
form, without any router; in older files it is the router, known by several workers, by roles, or by a ``policy``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inferlane.api import (
    Accept,
    Command,
    Fleet,
    Gate,
    HttpCheck,
    Metrics,
    Part,
    Port,
    Problem,
    Process,
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Rows,
    Run,
    Twin,
    Upstream,
    hookimpl,
)
from inferlane.values import ArgStyle
from inferlane_sglang.arguments import DATA, argument, size

PLUGIN_API = 1

METRICS_BASE = 29000
WORKER_TYPES = {"prefill": "prefill", "decode": "decode", "agg": "regular"}
PROGRAMS = {"sglang-router": "sglang_router.launch_router", "sglang": "sglang_router.launch_router"}
PROGRAMS["smg"] = "smg.launch_router"
FLAGS = {"sglang-router": "inferlane_sglang:flags/router.json", "sglang": "inferlane_sglang:flags/router.json"}
SUMMARIES = {
    "sglang-router": "the SGLang router",
    "smg": "the Shepherd model gateway, successor of the SGLang router",
    "sglang": "one aggregate worker on the public port; in older recipes the SGLang router",
}
OWNED = {
    "host": "it listens on its node's address",
    "port": "use frontend.port",
    "pd-disaggregation": "it follows the roles",
    "prefill": "the plan lists the workers",
    "decode": "the plan lists the workers",
    "worker-urls": "the plan lists the workers",
}


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (
        Accept(protocol="sglang-pd", roles=(("prefill", "decode"),), ports={"prefill": ("bootstrap",)}),
        Accept(protocol="openai", roles=(("agg",),)),
    )
    style = ArgStyle(sort=False, lists="repeat")
    return [
        RouterSpec(type=type_, summary=summary, config=RouterConfig, accepts=accepts, style=style, owned_args=OWNED)
        for type_, summary in SUMMARIES.items()
    ]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    if _direct(router, fleet):
        return RouterLayout(front="upstream", problems=tuple(_unused_arguments(router)))
    metrics = size(router.args, ("prometheus-port",))
    ports = (
        Port(name="http", base=8000, public=True),
        Port(name="metrics", base=metrics or METRICS_BASE, pinned=metrics is not None, public=True),
    )
    return RouterLayout(
        parts=(Part(per="run", ports=ports, metrics=Metrics(port="metrics")),),
        ready_workers_first=True,
        features=("dp-aware",) if argument(router.args, "dp-aware") else (),
        problems=(*_bad_port(metrics), *_unreachable_ranks(router, fleet)),
    )


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args = _workers(run)
    args += ["--host", process.node.bind, "--port", str(process.ports["http"])]
    args += ["--prometheus-port", str(process.ports["metrics"])]
    consumed = ["prometheus-port"]
    for flag, value in _defaults(router, process, run).items():
        if argument(router.args, flag) is None:
            args += [f"--{flag}", value]
    package = PROGRAMS[router.type].partition(".")[0].replace("_", "-")
    return Command(
        program=("python3", "-m", PROGRAMS[router.type]),
        args=tuple(args),
        consumed=tuple(consumed),
        flags=FLAGS.get(router.type),
        twin=Twin(prefer_real=True, install=f"pip install {package}"),
    )


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    if run.router is None:
        listed = HttpCheck(url=f"{run.endpoint}/v1/models", rows=Rows(path="data"))
        return [Gate(name="model is listed", before="traffic", checks=(listed,))]
    checks = []
    for role in dict.fromkeys(up.role for up in run.upstreams):
        names = tuple(name for up in run.upstreams if up.role == role for name in _names(up, run.router.features))
        where = {"worker_type": (WORKER_TYPES[role],), "is_healthy": (True,)}
        rows = Rows(path="workers", where=where, field="url", values=names, at_least=len(names))
        checks.append(HttpCheck(url=f"{run.endpoint}/workers", rows=rows))
    return [Gate(name="router knows every worker", before="traffic", checks=tuple(checks))]


def _direct(router: RouterConfig, fleet: Fleet) -> bool:
    single = fleet.protocol == "openai" and fleet.workers() == 1
    return router.type == "sglang" and single and argument(router.args, "policy") is None


def _bad_port(metrics: int | None) -> list[Problem]:
    if metrics is None or 0 < metrics < 65536:
        return []
    message = "must be a port number; leave it out to have one chosen"
    return [Problem(where="frontend.args.prometheus-port", message=message)]


def _unreachable_ranks(router: RouterConfig, fleet: Fleet) -> list[Problem]:
    """Measured on sglang-router 0.3.2: a pair of ranks is asked at ``http://worker:port@rank``, which reads as a host
    called ``rank``, and every request fails. smg 1.13.0 answers.
    """
    ranks = any((size(group.args, DATA) or 1) > 1 for group in fleet.groups)
    if router.type == "smg" or fleet.protocol != "sglang-pd" or not ranks or not argument(router.args, "dp-aware"):
        return []
    message = (
        "sglang-router 0.3.2 cannot reach ranks of prefill and decode workers (every request fails); "
        "use smg, or a router build that is known to"
    )
    return [Problem(where="frontend.args.dp-aware", message=message, severity="warning")]


def _unused_arguments(router: RouterConfig) -> list[Problem]:
    message = "no router is started for one worker on the public port, so this has no effect; use sglang-router"
    return [Problem(where=f"frontend.args.{key}", message=message) for key, value in router.args.items() if value]


def _workers(run: Run) -> list[str]:
    if run.protocol != "sglang-pd":
        return ["--worker-urls", *(str(up.url) for up in run.upstreams)]
    args = ["--pd-disaggregation"]
    for up in run.upstreams:
        args += [f"--{up.role}", str(up.url)]
        args += [str(up.ports["bootstrap"])] if up.role == "prefill" else []
    return args


def _defaults(router: RouterConfig, process: Process, run: Run) -> Mapping[str, Any]:
    """What the recipe may set otherwise. The startup window is never shorter than the run's own."""
    values = {"prometheus-host": process.node.bind, "worker-startup-timeout-secs": str(run.start_timeout_s)}
    if router.type == "smg":
        values["worker-startup-check-interval"] = "1"
    return values


def _names(up: Upstream, features: Sequence[str]) -> list[str]:
    """How the router lists an upstream: one entry per rank where it addresses ranks."""
    return [f"{up.url}@{rank}" for rank in range(up.ranks)] if "dp-aware" in features else [str(up.url)]
