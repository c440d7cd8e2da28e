"""The twin of a device metrics exporter: ``python -m inferlane.twins.exporter``, any command line.

It serves ``/metrics`` on its first held port (``metrics`` if there is one). The options of its orders are series to
show, each with its value; without any it shows only that it is up.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

from aiohttp import web  # noqa: TID253 - runs as a separate process only

from inferlane.errors import EXIT_USAGE
from inferlane.twins import life
from inferlane.twins.faults import WITHOUT_HTTP, Fault, FaultClock
from inferlane.twins.orders import VARIABLE, Orders
from inferlane.twins.startup import Held, StartError, guarded, ordered_fault, own_orders, prepare, say

NAME = "exporter twin"


def main(args: Sequence[str]) -> int:
    """Serve until SIGTERM; returns the exit status."""
    orders = own_orders(os.environ)
    if orders is None:
        raise StartError(f"{VARIABLE} is not set; this program runs in rehearsals only", EXIT_USAGE)
    held = prepare(orders, args)
    if not held:
        raise StartError("the orders hold no port to serve on")
    names = {socket.block: port for port, socket in reversed(held.items())}
    port = names.get("metrics", next(iter(held)))
    say(f"{NAME}: serving /metrics on {orders.host}:{port}")
    return asyncio.run(_serve(text(orders), held.pop(port), held, ordered_fault(orders, WITHOUT_HTTP)))


def text(orders: Orders) -> str:
    """The Prometheus text."""
    rows = [f'{series}{{gpu="0"}} {value}' for series, value in orders.options.items()]
    return "\n".join(["twin_exporter_up 1", *rows, ""])


async def _serve(body: str, http: Held, others: dict[int, Held], fault: Fault) -> int:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=body)

    app = web.Application()
    app.add_routes([web.get("/metrics", metrics)])
    stop = life.on_signals(fault)
    FaultClock(fault).arm()
    async with life.holding(others), life.serving(app, http):
        await stop.wait()
    return 0


if __name__ == "__main__":
    guarded(NAME, lambda: main(sys.argv[1:]))
