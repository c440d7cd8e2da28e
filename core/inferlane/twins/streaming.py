"""Answering in the chosen form, whole or as server-sent events, at a pace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web  # noqa: TID253 - runs as a separate process only

from inferlane.twins.answers import Ask, Form


class Pace:
    """Sleeps so that tokens come at ``tokens_per_s`` on average; 0 = as fast as it goes."""

    def __init__(self, tokens_per_s: float) -> None:
        self._rate = tokens_per_s
        self._began = asyncio.get_running_loop().time()

    async def until(self, made: int) -> None:
        """Return when ``made`` tokens are due."""
        due = self._began + made / self._rate if self._rate > 0 else 0.0
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))


async def answer_whole(ask: Ask, form: Form, tokens_per_s: float, done: Callable[[], None]) -> web.Response:
    """The answer in one piece, when its last token is due. ``done`` is called before it is sent."""
    await Pace(tokens_per_s).until(ask.tokens)
    done()
    return web.json_response(form.whole(ask))


async def answer_stream(
    request: web.Request,
    ask: Ask,
    form: Form,
    tokens_per_s: float,
    done: Callable[[], None],
    still: Callable[[], Awaitable[None]],
) -> web.StreamResponse:
    """The answer token by token. ``still`` is awaited before each; ``done`` is called before the last bytes."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    pace = Pace(tokens_per_s)
    await response.prepare(request)
    for event in form.opening(ask):
        await response.write(_event(event))
    for made in range(min(1, ask.tokens), ask.tokens + 1):
        await pace.until(made)
        await still()
        for choice in range(ask.choices):
            await response.write(_event(form.step(ask, choice, made, made == ask.tokens)))
    for event in form.closing(ask):
        await response.write(_event(event))
    done()
    await response.write(b"data: [DONE]\n\n")
    return response


def _event(content: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n"
