"""What goes on beside the supervisor's work: looking at what the run holds, so that all of it can be given back."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from inferlane.running.leftovers import shm, sysv
from inferlane.running.leftovers.clock import ClockWatch
from inferlane.running.leftovers.newfiles import NewFiles
from inferlane.running.leftovers.ports import still_held
from inferlane.running.leftovers.sweep import Swept
from inferlane.running.processes import tree
from inferlane.running.processes.signals import STOPPING

T = TypeVar("T")

_TICK_S = 0.2
_SHARE = 0.02  # of one core, for looking


class Housekeeping:
    """Of one run. ``scratch``: where it writes down what it sees. ``addresses``: those of the run's nodes, which are
    nobody else's. Make it before the first process of the run starts.
    """

    def __init__(self, scratch: Path, addresses: Collection[str]) -> None:
        self._addresses = frozenset(addresses)
        self._memory = shm.MemoryWatch(scratch / shm.RECORD)
        self._segments = sysv.SysVWatch()
        self._tree = tree.TreeWatch(scratch / tree.RECORD)
        self._clock = ClockWatch()
        self._faults: list[str] = []
        self._looks: list[Callable[[], object]] = [
            self._memory.look,
            self._segments.look,
            self._tree.look,
            self._clock.look,
        ]

    async def attend(self, work: Coroutine[Any, Any, T]) -> T:
        """Do ``work`` and look meanwhile. On return stop signals are held back until handlers are in place again: with
        its end the event loop takes its own away.
        """
        looking = asyncio.create_task(self._look_on())
        try:
            return await work
        finally:
            looking.cancel()
            (how,) = await asyncio.gather(looking, return_exceptions=True)
            if isinstance(how, Exception):  # a fault of ours in looking must not cost the verdict
                self._faults.append(f"looking at what the run holds failed: {how!r}")
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)

    async def _look_on(self) -> None:
        with contextlib.closing(NewFiles(shm.FOLDER)) as new:
            rest = self.look() / _SHARE
            while True:
                due = time.monotonic() + max(_TICK_S, rest)
                while (left := due - time.monotonic()) > 0:
                    if await new.wait(left):  # its maker may hold it for a moment only
                        spent = self.glance()
                        await asyncio.sleep(spent / _SHARE)
                rest = self.look() / _SHARE

    def glance(self) -> float:
        """Look at new shared memory only."""
        began = time.monotonic()
        with contextlib.suppress(OSError):
            self._memory.look()
        return time.monotonic() - began

    def look(self) -> float:
        """One round of looks; returns the seconds it took. What cannot be seen now may be seen later."""
        began = time.monotonic()
        for look in self._looks:
            with contextlib.suppress(OSError):
                look()
        return time.monotonic() - began

    def settle(self, swept: Swept) -> Swept:
        """After the last process: remove the shared memory that the run has left, and look who holds its ports."""
        removed, left = shm.remove(self._memory.segments.values())
        more, stays = sysv.remove(self._segments.segments)
        ports = still_held(self._addresses)
        return Swept(swept.killed, (*swept.left, *left, *stays, *ports), (*swept.memory, *removed, *more))

    def warnings(self) -> Iterable[str]:
        """What the run's document should say of the machine."""
        self._clock.look(now=True)
        return [*self._faults, *self._clock.warnings()]


def signals_again() -> None:
    """Let stop signals through that :meth:`Housekeeping.attend` has held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
