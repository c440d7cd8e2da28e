"""Hooks of routers: what they accept, their shape and command, and how to see that they know every worker."""
# mypy: disable-error-code="empty-body"

from collections.abc import Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import Command, Fleet, Gate, PluginCheck, Process, Reply, RouterLayout, RouterSpec, Run, Verdict
from inferlane.values.configs import RouterConfig


@hookspec
def inferlane_routers() -> Sequence[RouterSpec]:
    """The router types this module implements: one entry per ``frontend.type`` word.

    ``accepts`` lists protocols in order of preference; pairing with an engine is by protocol, never by name.
    """


@hookspec(firstresult=True)
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    """The shape of the router for ``fleet.protocol``: its processes and ports, who owns the public port, whether the
    workers must be healthy before it starts. ``None`` is an error.
    """


@hookspec(firstresult=True)
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    """The command of one router process. ``run.upstreams`` is what it routes to. ``None`` is an error.

    Not asked for layouts without parts (``front="upstream"``).
    """


@hookspec(firstresult=True)
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    """What proves that the router knows every worker. ``None`` = only the real completion, which is always last.

    A router's ``/health`` is rarely proof: compare names (URL, ``URL@rank``, host:port) with ``run.upstreams``, so that
    a missing one can be named.

    Example::

        rows = Rows(path="workers", where={"is_healthy": (True,)}, field="url", values=urls, at_least=len(urls))
        listed = HttpCheck(url=f"{run.endpoint}/workers", rows=rows)
        return [Gate(name="router knows every worker", before="traffic", checks=(listed,))]
    """


@hookspec(firstresult=True)
def inferlane_router_verdict(router: RouterConfig, check: PluginCheck, reply: Reply) -> Verdict | None:
    """Judge a ``PluginCheck`` of this router's own gates. Must not raise, whatever ``reply`` holds; ``reply.status`` 0
    is no answer. ``None`` is an error if a ``PluginCheck`` exists.
    """
