"""The program of the built-in mock router: ``python -m inferlane.twins.router``. A small real one, in round robin.

For prefill and decode it sends one body to both, with ``bootstrap_host``, ``bootstrap_port`` and ``bootstrap_room``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web  # noqa: TID253 - runs as a separate process only

from inferlane.twins import life
from inferlane.twins.faults import ROUTER, Fault, FaultClock
from inferlane.twins.routing import NoWorkerError, Pool, Worker, forward, forward_pair
from inferlane.twins.server import MAX_BODY, Handler, failed
from inferlane.twins.startup import (
    Held,
    OneLineParser,
    guarded,
    ordered_fault,
    own_orders,
    prepare,
    say,
    serving_socket,
)

NAME = "mock router"
POOL = web.AppKey("pool", Pool)
SESSION = web.AppKey("session", ClientSession)
CLOCK = web.AppKey("clock", FaultClock)
ASKED = web.AppKey("asked", list[int])


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = OneLineParser("python -m inferlane.twins.router")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="public port")
    parser.add_argument("--worker-urls", nargs="*", default=[], metavar="URL", help="workers that do all the work")
    parser.add_argument("--pd-disaggregation", action="store_true", help="pair prefill and decode workers")
    parser.add_argument("--prefill", nargs=2, action="append", default=[], metavar=("URL", "BOOT"), help="a prefill")
    parser.add_argument("--decode", action="append", default=[], metavar="URL", help="a decode")
    return parser


def workers(args: Sequence[str]) -> tuple[argparse.Namespace, tuple[Worker, ...]]:
    """Read the command line; exits with status 2 if it makes no sense."""
    options = parser().parse_args(args)
    paired = bool(options.prefill or options.decode)
    if paired != options.pd_disaggregation or (paired and not (options.prefill and options.decode)):
        parser().error("--pd-disaggregation, --prefill and --decode go together")
    if paired == bool(options.worker_urls):
        parser().error("give either --worker-urls or --prefill and --decode")
    for url, boot in options.prefill:
        if not boot.isdigit():
            parser().error(f"--prefill {url}: bootstrap port '{boot}' is not a number")
    found = [Worker(url.rstrip("/")) for url in options.worker_urls]
    found += [Worker(url.rstrip("/"), "prefill", int(boot)) for url, boot in options.prefill]
    found += [Worker(url.rstrip("/"), "decode") for url in options.decode]
    return options, tuple(found)


def main(args: Sequence[str]) -> int:
    """Route until SIGTERM; returns the exit status."""
    options, found = workers(args)
    orders = own_orders(os.environ)
    held = prepare(orders, args)
    host = orders.host if orders else options.host
    http = serving_socket(orders, held, host, options.port, "http")
    fault = ordered_fault(orders, ROUTER) if orders else Fault()
    say(f"{NAME}: {len(found)} workers, listening on {host}:{options.port}")
    return asyncio.run(_serve(Pool(found), http, held, fault))


async def _serve(pool: Pool, http: Held, others: dict[int, Held], fault: Fault) -> int:
    stop = life.on_signals(fault)
    clock = FaultClock(fault)
    clock.arm()
    async with life.holding(others), life.serving(router_app(pool, clock), http):
        await stop.wait()
    return 0


def router_app(pool: Pool, clock: FaultClock) -> web.Application:
    """The application in front of these workers."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[_unless_hung])
    app[POOL] = pool
    app[CLOCK] = clock
    app[ASKED] = [0]
    app.add_routes(
        [
            web.get("/health", _health),
            web.get("/workers", _workers),
            web.get("/v1/models", _any_worker),
            web.post("/v1/{path:.+}", _complete),
            web.post("/generate", _complete),
        ]
    )
    app.cleanup_ctx.append(_watching)
    return app


@web.middleware
async def _unless_hung(request: web.Request, handler: Handler) -> web.StreamResponse:
    await request.app[CLOCK].answer()
    return await handler(request)


async def _watching(app: web.Application) -> AsyncIterator[None]:
    timeout = ClientTimeout(total=None, sock_connect=5.0)
    async with ClientSession(timeout=timeout, connector=TCPConnector(limit=0), auto_decompress=False) as session:
        app[SESSION] = session
        watch = asyncio.create_task(app[POOL].watch(session))
        yield
        watch.cancel()


async def _health(_: web.Request) -> web.Response:
    return web.Response(text="OK")


async def _workers(request: web.Request) -> web.Response:
    return web.json_response(request.app[POOL].shown())


async def _any_worker(request: web.Request) -> web.StreamResponse:
    pool = request.app[POOL]
    try:
        worker = pool.next("decode" if pool.paired else "regular")
    except NoWorkerError as error:
        return failed(str(error), 503)
    return await forward(request.app[SESSION], request, worker)


async def _complete(request: web.Request) -> web.StreamResponse:
    pool, session, clock = request.app[POOL], request.app[SESSION], request.app[CLOCK]
    request.app[ASKED][0] += 1
    await clock.completion(request.app[ASKED][0])
    if clock.is_("error"):
        return failed("fault error: this twin was told to refuse", 503)
    try:
        if not pool.paired:
            return await forward(session, request, pool.next("regular"))
        body = await request.json()
        if not isinstance(body, dict):
            return failed("the body is not a JSON object", 400)
        return await forward_pair(session, request, body, pool.next("prefill"), pool.next("decode"))
    except NoWorkerError as error:
        return failed(str(error), 503)
    except json.JSONDecodeError as error:
        return failed(f"the body is not JSON: {error}", 400)


if __name__ == "__main__":
    guarded(NAME, lambda: main(sys.argv[1:]))
