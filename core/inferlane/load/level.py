"""One batch of requests under a limit: a warm-up or a measured level."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Literal

from inferlane.errors import InferlaneError
from inferlane.load.client import Outcome
from inferlane.load.prompts import Ask

End = Literal["finished", "time is up", "stalled", "stopped", "broken"]


class Stop:
    """Set by a signal; everything that waits also waits for it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.signal = 0

    def set(self, signal: int) -> None:
        """Ask for the end; the first signal is the one remembered."""
        self.signal = self.signal or signal
        self._event.set()

    async def wait(self) -> None:
        """Return once the end is asked for."""
        await self._event.wait()

    async def race(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of ``work``, or ``None`` if the end was asked for first; ``work`` is then cancelled."""
        tasks = [asyncio.ensure_future(work), asyncio.ensure_future(self.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finished = tasks[0].done()
        await _cancel(tasks)
        return tasks[0].result() if finished else None


async def _cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    held = list(tasks)
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)


class Level:
    """Sends requests, at most ``concurrency`` at a time, and tells ``record`` what became of each.

    ``record(ask, started, outcome)``: ``started`` in seconds since the level began; a request that was cut off has the
    kind ``cancelled``. A ``record`` that raises ends the level: it is then ``broken``, and ``fault`` says why.
    ``rate``: requests per second (Poisson), ``None`` = no pause between them.
    """

    def __init__(
        self,
        concurrency: int,
        send: Callable[[Ask], Awaitable[Outcome]],
        record: Callable[[Ask, float, Outcome], None],
        *,
        stall_s: float,
        rate: float | None = None,
        duration_s: float | None = None,
        seed: str = "",
    ) -> None:
        self._send = send
        self._record = record
        self._stall_s = stall_s
        self._rate = rate
        self._duration_s = duration_s
        self._pauses = random.Random(f"{seed}/pauses")  # noqa: S311
        self._slots = asyncio.Semaphore(concurrency)
        self._open: set[asyncio.Future[Outcome]] = set()
        self._began = self._moved = time.perf_counter()
        self._broken = asyncio.Event()
        self._crash: BaseException | None = None
        self.fault = ""
        self.sent = 0
        self.peak = 0
        self.seconds = 0.0
        self.started_at_unix = self.ended_at_unix = time.time()

    @property
    def in_flight(self) -> int:
        """How many requests are open now."""
        return len(self._open)

    async def run(self, asks: Iterable[Ask], stop: Stop) -> End:
        """Send all of them and wait; ends early on a stall, on ``stop``, or when the time is up."""
        self._began = self._moved = time.perf_counter()
        self.started_at_unix = time.time()
        waits: dict[asyncio.Future[Any], End] = {
            asyncio.ensure_future(self._dispatch(asks)): "finished",
            asyncio.ensure_future(stop.wait()): "stopped",
            asyncio.ensure_future(self._stall()): "stalled",
            asyncio.ensure_future(self._broken.wait()): "broken",
        }
        if self._duration_s is not None:
            waits[asyncio.ensure_future(asyncio.sleep(self._duration_s))] = "time is up"
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        self.seconds = time.perf_counter() - self._began
        self.ended_at_unix = time.time()
        # All at once: a request that were left for one more turn of the loop could end after the level did.
        await _cancel([*waits, *self._open])
        await asyncio.sleep(0)  # lets the callbacks of the cancelled run
        if self._crash is not None and not self.fault:
            raise self._crash
        if self.fault:
            return "broken"
        for wait in done:
            wait.result()
        return next(end for wait, end in waits.items() if wait in done)

    def fail(self, crash: BaseException) -> None:
        """End the level; a fault that a user can mend becomes its ``fault``, and any other is raised by :meth:`run`."""
        if self._crash is None:
            self._crash = crash
            self.fault = str(crash) if isinstance(crash, InferlaneError) else ""
        self._broken.set()

    async def _dispatch(self, asks: Iterable[Ask]) -> None:
        due = time.perf_counter()
        for ask in asks:
            if self._rate is not None:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                due += self._pauses.expovariate(self._rate)
            await self._slots.acquire()
            if self._crash is not None:
                break
            self._spawn(ask)
        while self._open:
            await asyncio.wait(self._open)

    def _spawn(self, ask: Ask) -> None:
        if not self._open:
            self._moved = time.perf_counter()
        started = time.perf_counter() - self._began
        task = asyncio.ensure_future(self._send(ask))
        self._open.add(task)
        self.sent += 1
        self.peak = max(self.peak, len(self._open))
        task.add_done_callback(lambda ended: self._ended(ask, started, ended))

    def _ended(self, ask: Ask, started: float, task: asyncio.Future[Outcome]) -> None:
        self._open.discard(task)
        self._slots.release()
        self._moved = time.perf_counter()
        if not task.cancelled() and (crash := task.exception()) is not None:
            self.fail(crash)
            return
        try:
            self._record(ask, started, Outcome(kind="cancelled") if task.cancelled() else task.result())
        except Exception as crash:  # noqa: BLE001 - a result that cannot be kept ends the level
            self.fail(crash)

    async def _stall(self) -> None:
        while not self._open or time.perf_counter() - self._moved < self._stall_s:
            await asyncio.sleep(min(0.5, self._stall_s / 10))
