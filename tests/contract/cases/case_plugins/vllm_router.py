"""A router of three protocols: workers that register themselves, workers listed by URL, and plain servers.

With discovery nothing in the router's HTTP answers says who has registered, so the gate reads its log. A registration
that expired is taken back by ``gone``.
"""

from __future__ import annotations

from collections.abc import Sequence

from case_plugins.vllm_engine import MORIIO, NIXL
from inferlane.api import (
    Accept,
    ArgStyle,
    Command,
    Fleet,
    Gate,
    HttpCheck,
    LogCheck,
    Part,
    Port,
    Process,
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Rows,
    Run,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

PAIR = (("prefill", "decode"),)
REGISTERED = {"prefill": "Prefill", "decode": "Decode"}


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (
        Accept(protocol=MORIIO, roles=PAIR),
        Accept(protocol=NIXL, roles=PAIR, ports={"prefill": ("side",)}),
        Accept(protocol="openai", roles=(("agg",),)),
    )
    style = ArgStyle(sort=False, lists="repeat")
    return [
        RouterSpec(
            type="case-vllm-router", summary="three protocols", config=RouterConfig, accepts=accepts, style=style
        )
    ]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    ports = [Port(name="http", base=8000, public=True), Port(name="metrics", base=29000)]
    if fleet.protocol == MORIIO:
        ports.append(Port(name="discovery", base=26500, public=True))
    # workers that register themselves may come up after the router
    return RouterLayout(parts=(Part(per="run", ports=tuple(ports)),), ready_workers_first=fleet.protocol != MORIIO)


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args = ["--host", process.node.bind, "--port", str(process.ports["http"])]
    args += ["--prometheus-port", str(process.ports["metrics"]), *_workers(process, run)]
    ranks = {up.ranks for up in run.upstreams}
    if len(ranks) == 1 and ranks != {1}:
        args += ["--intra-node-data-parallel-size", str(ranks.pop())]
    return Command(program=("vllm-router",), args=tuple(args), twin=Twin(module="inferlane.twins.router"))


def _workers(process: Process, run: Run) -> list[str]:
    if run.protocol == MORIIO:
        address = f"{process.node.bind}:{process.ports['discovery']}"
        return ["--vllm-pd-disaggregation", "--kv-connector", "moriio", "--vllm-discovery-address", address]
    if run.protocol == NIXL:
        args = ["--vllm-pd-disaggregation"]
        for up in run.upstreams:
            side = [str(up.ports["side"])] if up.role == "prefill" else []
            args += [f"--{up.role}", str(up.url), *side]
        return args
    return ["--worker-urls", *(str(up.url) for up in run.upstreams)]


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    if run.protocol == MORIIO:
        return [_registrations(run)]
    ranks = sum(up.ranks for up in run.upstreams)
    rows = Rows(path="workers", where={"is_healthy": (True,)}, at_least=ranks)
    check = HttpCheck(url=f"{run.endpoint}/workers", rows=rows)
    return [Gate(name="router knows every rank", before="traffic", checks=(check,))]


def _registrations(run: Run) -> Gate:
    assert run.router is not None
    checks = []
    for role, word in REGISTERED.items():
        check = LogCheck(
            process=run.router.process,
            pattern=rf"Add {word} \[HTTP:([^\s,\]]+)",
            gone=r"Remove \w+ \[HTTP:([^\s,\]]+).*expired",
            values=tuple(str(up.address) for up in run.upstreams if up.role == role),
        )
        checks.append(check)
    health = HttpCheck(url=f"{run.endpoint}/health")
    return Gate(name="every worker has registered", before="traffic", checks=(health, *checks))
