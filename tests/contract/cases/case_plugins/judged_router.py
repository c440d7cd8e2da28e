"""A router whose readiness no data can describe: its own code judges the answer. The last resort, for any protocol."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Accept,
    Command,
    Fleet,
    Gate,
    Part,
    PluginCheck,
    Port,
    Process,
    Reply,
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Run,
    Twin,
    Verdict,
    hookimpl,
)

PLUGIN_API = 1


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (Accept(protocol="*"),)
    return [RouterSpec(type="case-judged", summary="judged by code", config=RouterConfig, accepts=accepts)]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    return RouterLayout(parts=(Part(per="run", ports=(Port(name="http", base=8000, public=True),)),))


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    return Command(program=("judged-router",), twin=Twin(module="inferlane.twins.router"))


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    wanted = str(len(run.upstreams))
    check = PluginCheck(url=f"{run.endpoint}/status", name="enough workers", params={"wanted": wanted})
    return [Gate(name="router is content", before="traffic", checks=(check,))]


@hookimpl
def inferlane_router_verdict(router: RouterConfig, check: PluginCheck, reply: Reply) -> Verdict | None:
    seen = reply.body.count("ready")
    return Verdict(ready=seen >= int(check.params["wanted"]), message=f"{seen} of {check.params['wanted']}")
