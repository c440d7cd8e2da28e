"""Ending everything: TERM by tiers, a grace, KILL, all within one budget; then the last look."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable
from itertools import groupby

from inferlane.running.ground import Ground
from inferlane.running.leftovers.sweep import RUN_ID, Swept, carriers, sweep
from inferlane.running.processes import proc
from inferlane.running.processes.spawn import Child, Children

_TOGETHER = 2  # after a failure, tiers up to this one end at once
_SHARE = 0.6  # of what is left of the budget, for a tier that has others after it


class Teardown:
    """``budget_s``: seconds for all graces together. ``wait``: sleeps until something ends or seconds have passed."""

    def __init__(
        self, children: Children, ground: Ground, budget_s: float, wait: Callable[[float], Awaitable[None]]
    ) -> None:
        self._children = children
        self._ground = ground
        self._deadline = time.monotonic() + budget_s
        self._wait = wait

    def hurry(self) -> None:
        """Skip what is left of the grace."""
        self._deadline = time.monotonic()

    async def run(self, failed: bool) -> None:
        """TERM, wait, KILL, tier by tier."""

        def tier(child: Child) -> int:
            return max(child.process.tier, _TOGETHER) if failed else child.process.tier

        running = sorted(self._children.running(), key=tier)
        groups = [list(group) for _, group in groupby(running, key=tier)]
        for position, group in enumerate(groups):
            await self._end(group, last=position == len(groups) - 1)

    async def _end(self, group: list[Child], last: bool) -> None:
        for child in group:
            child.asked = True
        self._ground.ask(group)
        start = time.monotonic()
        share = 1.0 if last else _SHARE
        allowed = max(0.0, self._deadline - start) * share
        while any(child.code is None for child in group):
            limit = min(start + allowed, self._deadline)
            if time.monotonic() >= limit:
                break
            await self._wait(min(0.5, limit - time.monotonic()))
        await self._kill([child for child in group if child.code is None])

    async def _kill(self, stubborn: list[Child]) -> None:
        for child in stubborn:
            child.killed = True
        self._ground.kill(stubborn)
        limit = time.monotonic() + 5.0  # a killed process may be held by a driver; the last look reports it
        while any(child.code is None for child in stubborn) and time.monotonic() < limit:
            await self._wait(0.2)


def last_look(run_id: str) -> Swept:
    """End what is left below this process and anything else that carries the run's id, and look again."""
    swept = sweep()
    killed = list(swept.killed)
    limit = time.monotonic() + 2.0
    while (others := carriers(run_id)) and time.monotonic() < limit:
        for pid in others:
            start = proc.start_time(pid)
            if start is not None and proc.environment_of(pid).get(RUN_ID) == run_id:
                killed.append(f"{pid} {proc.command_of(pid)}")
                proc.signal_verified(pid, start, signal.SIGKILL)
        time.sleep(0.02)
    left = tuple(f"{pid} {proc.command_of(pid)}" for pid in others)
    return Swept(tuple(dict.fromkeys(killed)), (*swept.left, *left))
