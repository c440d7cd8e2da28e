"""From taken ports to exit status: the life of a serving twin and of a follower."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web  # noqa: TID253 - runs as a separate process only
from aiohttp.http_exceptions import HttpProcessingError  # noqa: TID253

from inferlane.twins.faults import WITHOUT_HTTP, Fault, FaultClock
from inferlane.twins.pairing import bootstrap_app
from inferlane.twins.rendezvous import Meeting, join
from inferlane.twins.server import Settings, TwinServer, wait_loaded
from inferlane.twins.startup import BACKLOG, Held, check_able, say

GRACE_S = 1.0


def serve(
    settings: Settings,
    http: Held,
    others: Mapping[int, Held],
    *,
    bootstrap: Held | None = None,
    meeting: tuple[Held, int] | None = None,
    extend: Callable[[TwinServer, web.Application], None] | None = None,
) -> int:
    """Serve until SIGTERM and return the exit status.

    ``others``: ports that are only held. ``meeting``: where, and by how many, followers join. ``extend`` adds an
    engine's own paths.
    """
    return asyncio.run(_serve(settings, http, others, bootstrap, meeting, extend))


async def _serve(
    settings: Settings,
    http: Held,
    others: Mapping[int, Held],
    bootstrap: Held | None,
    meeting: tuple[Held, int] | None,
    extend: Callable[[TwinServer, web.Application], None] | None,
) -> int:
    server = TwinServer(settings)
    stop = on_signals(settings.fault)
    server.clock.arm()
    app = server.app()
    if extend is not None:
        extend(server, app)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(holding(others))
        await stack.enter_async_context(serving(app, http))
        if bootstrap is not None:
            await stack.enter_async_context(serving(bootstrap_app(server.rooms), bootstrap))
        members = None
        if meeting is not None:
            party = Meeting(meeting[1])
            members = party.complete
            await stack.enter_async_context(_answering(meeting[0], party))
        loading = asyncio.create_task(wait_loaded(server, members, say))
        await stop.wait()
        loading.cancel()
    return 0


def follow(number: int, leader: tuple[str, int] | None, others: Mapping[int, Held], fault: Fault) -> int:
    """Hold ports and join the leader, without HTTP, until SIGTERM.

    Raises ``StartError`` if the leader never answers, or for a fault that needs HTTP.
    """
    check_able(fault, WITHOUT_HTTP)
    return asyncio.run(_follow(number, leader, others, fault))


async def _follow(number: int, leader: tuple[str, int] | None, others: Mapping[int, Held], fault: Fault) -> int:
    stop = on_signals(fault)
    FaultClock(fault).arm()
    async with holding(others):
        stopped = asyncio.create_task(stop.wait())
        if leader is not None:
            joining = asyncio.create_task(join(*leader, number))
            await asyncio.wait({joining, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                joining.cancel()
                return 0
            connection = joining.result()
            say(f"rank {number} joined the leader at {leader[0]}:{leader[1]}")
            await stopped
            connection.close()
        await stopped
    return 0


def on_signals(fault: Fault) -> asyncio.Event:
    stop = asyncio.Event()

    def term() -> None:
        if fault.kind == "ignore-term":
            say("fault ignore-term: SIGTERM ignored")
        else:
            stop.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, term)
    loop.add_signal_handler(signal.SIGINT, term)
    return stop


@asynccontextmanager
async def serving(app: web.Application, held: Held) -> AsyncIterator[None]:
    """Serve an application on a held socket; on leaving, requests in flight get a short grace."""
    log = logging.getLogger("inferlane.twins.http")
    log.addFilter(_no_noise)
    runner = web.AppRunner(app, access_log=None, logger=log, handler_cancellation=True, shutdown_timeout=GRACE_S)
    await runner.setup()
    try:
        await web.SockSite(runner, held, backlog=BACKLOG).start()
        yield
    finally:
        await runner.cleanup()


def _no_noise(record: logging.LogRecord) -> bool:
    """Routers also try other protocols on the HTTP port; what is not HTTP is no fault of the twin."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


@asynccontextmanager
async def holding(others: Mapping[int, Held]) -> AsyncIterator[None]:
    """Keep ports taken; who connects is turned away."""

    async def turn_away(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    servers = [await asyncio.start_server(turn_away, sock=held) for held in others.values()]
    try:
        yield
    finally:
        for server in servers:
            server.close()


@asynccontextmanager
async def _answering(held: Held, party: Meeting) -> AsyncIterator[None]:
    server = await asyncio.start_server(party.welcome, sock=held)
    try:
        yield
    finally:
        server.close()
