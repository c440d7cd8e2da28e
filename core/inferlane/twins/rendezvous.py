"""How the twins of one worker that spans nodes meet: followers call the leader, which loads only when all have come."""

from __future__ import annotations

import asyncio

from inferlane.twins.startup import StartError

PATIENCE_S = 120.0
AGAIN_S = 0.2


class Meeting:
    """The leader's side: a listening socket's connections, each introduced by the follower's number."""

    def __init__(self, followers: int) -> None:
        self._missing = set(range(1, followers + 1))
        self._complete = asyncio.Event()
        if not self._missing:
            self._complete.set()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection, kept open as long as the follower lives."""
        try:
            text = (await reader.readline()).decode("ascii", "replace").strip()
            if text.isdigit():
                self._missing.discard(int(text))
                if not self._missing:
                    self._complete.set()
                writer.write(b"welcome\n")
                await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def complete(self) -> None:
        """Wait until every follower has come."""
        await self._complete.wait()

    @property
    def missing(self) -> tuple[int, ...]:
        """Followers that have not come yet."""
        return tuple(sorted(self._missing))


async def join(host: str, port: int, number: int, patience_s: float = PATIENCE_S) -> asyncio.StreamWriter:
    """The follower's side: call the leader until it answers. Raises ``StartError`` when patience runs out."""
    deadline = asyncio.get_running_loop().time() + patience_s
    while True:
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), port), 2.0)
            writer.write(f"{number}\n".encode())
            if await asyncio.wait_for(reader.readline(), 2.0) == b"welcome\n":
                return writer
            writer.close()
        except (OSError, TimeoutError):
            pass
        if asyncio.get_running_loop().time() >= deadline:
            raise StartError(f"the leader did not answer at {host}:{port} within {patience_s:g} s")
        await asyncio.sleep(AGAIN_S)
