"""The HTTP server of a twin: the endpoints, and what stands behind each completion."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web  # noqa: TID253 - runs as a separate process only

from inferlane.twins.answers import Ask, BadRequestError, ChatForm, CompletionForm, Form, error_body, read_ask
from inferlane.twins.faults import Fault, FaultClock
from inferlane.twins.metrics import Counts
from inferlane.twins.pairing import NoRoomError, Rooms, fetch_rooms, rooms_of
from inferlane.twins.streaming import answer_stream, answer_whole

MAX_BODY = 256 * 1024 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Settings:
    """What one twin serves.

    ``series``: its counter of finished requests. ``ranks``: data-parallel ranks, chosen by ``data_parallel_rank`` in
    the body (or the header ``X-data-parallel-rank``), else in turn. ``room_wait_s``: how long a decode waits for its
    prefill. ``only_served``: a request for another model is answered with 404. ``metrics``: whether ``/metrics``
    exists. ``ready_line``: what the log says when it is healthy.
    """

    model: str
    served_model: str
    series: str
    role: str = "agg"
    ranks: int = 1
    rank_label: str = "rank"
    load_s: float = 0.0
    tokens_per_s: float = 0.0
    room_wait_s: float = 5.0
    fault: Fault = dataclasses.field(default_factory=Fault)
    only_served: bool = False
    metrics: bool = True
    ready_line: str = "ready"


class TwinServer:
    """One twin. Create it inside a running event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.counts = Counts(settings.ranks)
        self.clock = FaultClock(settings.fault)
        self.rooms = Rooms()
        self.ready = False
        self._turn = 0
        self._session: ClientSession | None = None

    def app(self) -> web.Application:
        """The application with the paths that all twins have; add an engine's own to its router."""
        app = web.Application(client_max_size=MAX_BODY, middlewares=[self._unless_hung])
        app.add_routes(
            [
                web.get("/health", self.health),
                web.get("/v1/models", self._models),
                web.get("/metrics", self._metrics),
                web.get("/stats", self._stats),
                web.post("/v1/completions", self.openai(CompletionForm(), chat=False)),
                web.post("/v1/chat/completions", self.openai(ChatForm(), chat=True)),
            ]
        )
        app.cleanup_ctx.append(self._outgoing)
        return app

    def openai(self, form: Form, *, chat: bool) -> Handler:
        """The handler of an OpenAI path."""
        return self.completion(lambda body: read_ask(body, self.settings.served_model, chat=chat), form)

    def completion(self, read: Callable[[Mapping[str, Any]], Ask], form: Form) -> Handler:
        """The handler of a path that completes something: ``read`` reads the body, ``form`` writes the answer."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                body = await _json_object(request)
                ask, rank = read(body), self._rank(request, body)
            except BadRequestError as error:
                return failed(str(error), 400)
            if self.settings.only_served and ask.model != self.settings.served_model:
                return failed(f"model {ask.model} is not served here; {self.settings.served_model} is", 404)
            if not self.ready:
                return failed("the model is still loading", 503)
            with self.counts.track() as number:
                await self.clock.completion(number)
                return await self._answer(request, body, ask, form, rank)

        return handle

    async def health(self, _: web.Request) -> web.Response:
        """200 once loaded, 503 before."""
        return web.Response(status=200 if self.ready else 503)

    async def _answer(
        self, request: web.Request, body: Mapping[str, Any], ask: Ask, form: Form, rank: int
    ) -> web.StreamResponse:
        if self.clock.is_("error"):
            return failed("fault error: this twin was told to refuse", 503)
        try:
            await self._pair(body)
        except NoRoomError as error:
            return failed(str(error), 400 if self.settings.role == "prefill" else 500)
        if self.settings.role == "prefill":
            ask = dataclasses.replace(ask, tokens=min(1, ask.tokens))
        if self.clock.is_("zero"):
            ask = dataclasses.replace(ask, tokens=0)

        def done() -> None:
            self.counts.finish(rank)

        if ask.stream:
            return await answer_stream(request, ask, form, self.settings.tokens_per_s, done, self.clock.answer)
        return await answer_whole(ask, form, self.settings.tokens_per_s, done)

    async def _pair(self, body: Mapping[str, Any]) -> None:
        if self.settings.role == "prefill":
            for room in rooms_of(body):
                await self.rooms.keep(room.number)
        elif self.settings.role == "decode":
            assert self._session is not None
            await fetch_rooms(self._session, rooms_of(body), self.settings.room_wait_s)

    def _rank(self, request: web.Request, body: Mapping[str, Any]) -> int:
        asked: Any = body.get("data_parallel_rank", request.headers.get("X-data-parallel-rank"))
        if asked is None:
            self._turn += 1
            return (self._turn - 1) % self.settings.ranks
        try:
            rank = int(asked)
        except (TypeError, ValueError):
            rank = -1
        if not 0 <= rank < self.settings.ranks:
            raise BadRequestError(f"data_parallel_rank {asked!r} is not one of 0 to {self.settings.ranks - 1}")
        return rank

    async def _models(self, _: web.Request) -> web.Response:
        if not self.ready:
            return failed("the model is still loading", 503)
        model = {"id": self.settings.served_model, "object": "model", "created": int(time.time()), "owned_by": "twin"}
        return web.json_response({"object": "list", "data": [model | {"root": self.settings.model}]})

    async def _metrics(self, _: web.Request) -> web.Response:
        if not self.settings.metrics:
            raise web.HTTPNotFound
        text = self.counts.prometheus(self.settings.series, self.settings.rank_label, self.settings.served_model)
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def _stats(self, _: web.Request) -> web.Response:
        return web.json_response({**self.counts.stats(), "role": self.settings.role, "open_rooms": len(self.rooms)})

    @web.middleware
    async def _unless_hung(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        await self.clock.answer()
        response = await handler(request)
        await self.clock.answer()
        return response

    async def _outgoing(self, _: web.Application) -> Any:
        async with ClientSession(timeout=ClientTimeout(total=None)) as session:
            self._session = session
            yield
        self._session = None


def failed(message: str, status: int) -> web.Response:
    """An error answer."""
    return web.json_response(error_body(message, status), status=status)


async def _json_object(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequestError("the body is not a JSON object")
    return body


async def wait_loaded(
    server: TwinServer, members: Callable[[], Awaitable[None]] | None, say: Callable[[str], None]
) -> None:
    """Become ready after the load time, and after all ``members`` of the worker have come; never with that fault."""
    seconds = server.clock.load_s(server.settings.load_s)
    if members is not None:
        await members()
    if seconds is None:
        return
    await asyncio.sleep(max(0.0, server.clock.began + seconds - time.monotonic()))
    server.ready = True
    say(server.settings.ready_line)
