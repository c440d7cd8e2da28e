"""A proxy in front of one router per node: two parts of one router, and the public port belongs to the proxy."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Accept,
    Command,
    File,
    Fleet,
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


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (Accept(protocol="openai", roles=(("agg",),)),)
    return [RouterSpec(type="case-nginx", summary="a proxy and routers", config=RouterConfig, accepts=accepts)]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    proxy = Part(name="proxy", per="run", ports=(Port(name="door", base=8000, public=True),), start="after_router")
    routers = Part(per="node", on="all", ports=(Port(name="http", base=8180),))
    return RouterLayout(parts=(routers, proxy), port="door")


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    twin = Twin(module="inferlane.twins.router")
    if process.part == "main":
        urls = tuple(str(up.url) for up in run.upstreams)
        args = ("--port", str(process.ports["http"]), "--worker-urls", *urls)
        return Command(program=("small-router",), args=args, twin=twin)
    behind = [peer for peer in process.siblings if peer.part == "main"]
    text = "".join(f"server {peer.node.host}:{peer.ports['http']};\n" for peer in behind)
    config = File(name="nginx.conf", text=text)
    args = ("-c", f"{run.files}/{process.name}/{config.name}")
    return Command(program=("nginx",), args=args, files=(config,), twin=twin)
