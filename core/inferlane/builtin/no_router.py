"""Router ``none``: nothing in front of the workers, and no public port."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import Accept, Fleet, RouterConfig, RouterLayout, RouterSpec, hookimpl

PLUGIN_API = 1


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    anything = Accept(protocol="*", roles=((), ("agg",), ("prefill", "decode"), ("prefill",), ("decode",)))
    return [RouterSpec(type="none", summary="no router, no endpoint", config=RouterConfig, accepts=(anything,))]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    return RouterLayout(front="none")
