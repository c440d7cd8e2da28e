"""A router that is not in Python: a program found on PATH, told everything by flags."""

from __future__ import annotations

from collections.abc import Sequence

from case_plugins.atom_engine import DISAGGREGATED
from inferlane.api import (
    Accept,
    ArgStyle,
    Command,
    Fleet,
    Gate,
    HttpCheck,
    Need,
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

WORKER_TYPES = {"prefill": "prefill", "decode": "decode", "agg": "regular"}


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (
        Accept(protocol=DISAGGREGATED, roles=(("prefill", "decode"),)),
        Accept(protocol="openai", roles=(("agg",),)),
    )
    spec = RouterSpec(
        type="case-atomesh",
        summary="a program on PATH",
        config=RouterConfig,
        accepts=accepts,
        owned_args={"backend": "it follows the engine"},
        style=ArgStyle(sort=False, lists="repeat"),
    )
    return [spec]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    ports = (Port(name="http", base=8000, public=True), Port(name="metrics", base=29100))
    return RouterLayout(parts=(Part(per="run", ports=ports),), ready_workers_first=True)


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args = ["--backend", "atom"]
    if run.protocol == DISAGGREGATED:
        args.append("--pd-disaggregation")
        args += [word for up in run.upstreams for word in (f"--{up.role}", str(up.url))]
    else:
        args += ["--worker-urls", *(str(up.url) for up in run.upstreams)]
    args += ["--host", process.node.bind, "--port", str(process.ports["http"])]
    args += ["--prometheus-port", str(process.ports["metrics"])]
    return Command(
        program=("atomesh", "launch"),
        args=tuple(args),
        needs=(Need(kind="program", value="atomesh"),),
        twin=Twin(module="inferlane.twins.router"),
    )


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    checks = [HttpCheck(url=f"{run.endpoint}/v1/models", rows=Rows(path="data"))]
    for role in dict.fromkeys(up.role for up in run.upstreams):
        urls = tuple(str(up.url) for up in run.upstreams if up.role == role)
        rows = Rows(path="workers", where={"worker_type": (WORKER_TYPES[role],)}, field="url", values=urls)
        checks.append(HttpCheck(url=f"{run.endpoint}/workers", rows=rows))
    return [Gate(name="router lists every worker", before="traffic", checks=tuple(checks))]
