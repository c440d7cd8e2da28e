"""How a prefill twin and a decode twin find each other: by room, through the prefill's bootstrap port.

The router sends one body to both, with ``bootstrap_host``, ``bootstrap_port`` and ``bootstrap_room``. The prefill keeps
the room; the decode asks the prefill's bootstrap port for it and answers only if it is there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from aiohttp import ClientError, ClientSession, ClientTimeout, web  # noqa: TID253 - runs as a separate process only

KEEP_S = 120.0


class Room(NamedTuple):
    """Where one prompt's prefill is to be found."""

    host: str
    port: int
    number: int


class NoRoomError(Exception):
    """The body names no room, or no prefill came for it."""


class Rooms:
    """The rooms of one prefill: kept until a decode takes them or they grow old."""

    def __init__(self) -> None:
        self._kept: dict[int, float] = {}
        self._change = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._kept)

    async def keep(self, number: int) -> None:
        """A prefill for this room is done."""
        now = time.monotonic()
        async with self._change:
            self._kept = {room: since for room, since in self._kept.items() if now - since < KEEP_S}
            self._kept[number] = now
            self._change.notify_all()

    async def take(self, number: int, wait_s: float) -> bool:
        """Give the room to a decode, once; waits for it up to ``wait_s``."""
        async with self._change:
            try:
                await asyncio.wait_for(self._change.wait_for(lambda: number in self._kept), wait_s)
            except TimeoutError:
                return False
            del self._kept[number]
            return True


def bootstrap_app(rooms: Rooms) -> web.Application:
    """What answers on a prefill's bootstrap port."""

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="OK")

    async def room(request: web.Request) -> web.Response:
        try:
            number, wait_s = int(request.query["room"]), float(request.query["wait_s"])
        except (KeyError, ValueError):
            return web.json_response({"error": "room and wait_s must be numbers"}, status=400)
        found = await rooms.take(number, wait_s)
        return web.json_response({"room": number}, status=200 if found else 404)

    app = web.Application()
    app.add_routes([web.get("/health", health), web.get("/room", room)])
    return app


def rooms_of(body: Mapping[str, Any]) -> tuple[Room, ...]:
    """The rooms a body names, one for each prompt of a batch. Raises ``NoRoomError``."""
    names = ("bootstrap_host", "bootstrap_port", "bootstrap_room")
    columns = [value if isinstance(value := body.get(name), list) else [value] for name in names]
    rows = list(zip(*columns, strict=False))
    if not rows or len({len(column) for column in columns}) > 1:
        raise NoRoomError(f"{', '.join(names)} are lists of different lengths")
    for host, port, room in rows:
        given = dict(zip(names, (host, port, room), strict=True))
        missing = [name for name, value in given.items() if not isinstance(value, str if name == names[0] else int)]
        if missing:
            raise NoRoomError(f"the request has no {', '.join(missing)}; send it through a router that pairs")
    return tuple(Room(*row) for row in rows)


async def fetch_rooms(session: ClientSession, rooms: tuple[Room, ...], wait_s: float) -> None:
    """Wait, for up to ``wait_s`` each, until the prefill of each room has come. Raises ``NoRoomError``."""
    for room in rooms:
        host = f"[{room.host}]" if ":" in room.host.strip("[]") else room.host
        address = f"{host}:{room.port}"
        try:
            url = f"http://{address}/room"
            asked = {"room": str(room.number), "wait_s": str(wait_s)}
            async with session.get(url, params=asked, timeout=ClientTimeout(total=wait_s + 2)) as reply:
                if reply.status == 200:
                    continue
                why = f"no prefill came within {wait_s:g} s" if reply.status == 404 else f"status {reply.status}"
        except (ClientError, TimeoutError, ValueError) as error:
            why = f"no answer ({error or type(error).__name__})"
        raise NoRoomError(f"room {room.number} at bootstrap {address}: {why}")
