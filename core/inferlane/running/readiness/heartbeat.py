"""Asking those that were ready whether they still are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from inferlane.running.terminal.board import Board
from inferlane.values import Check, HttpCheck, Plan, PluginCheck, Verdict

_BEAT_S = 5.0
_PER_SECOND = 50
"""Probes a second at most, whatever the number of processes."""


class Heartbeat:
    """One check per critical process that has one over HTTP; ``judge`` probes and judges it once.

    A worker must hold its check; of any other (a router may rightly call itself not ready) an answer is enough.
    """

    def __init__(self, plan: Plan, board: Board, judge: Callable[[Check, float], Awaitable[Verdict]]) -> None:
        self._board = board
        self._judge = judge
        self._timeout_s = plan.probe_timeout_s
        kinds = {process.name: process.kind for process in plan.processes if process.critical == "always"}
        self._checks: dict[str, Check] = {}
        for gate in plan.gates:
            for check in gate.checks:
                owner = board.owner(check)
                if owner in kinds and isinstance(check, HttpCheck | PluginCheck):
                    self._checks.setdefault(owner, _as_answer(check) if kinds[owner] != "worker" else check)
        self._beat_s = max(min(_BEAT_S, plan.probe_interval_s * _BEAT_S), len(self._checks) / _PER_SECOND)

    async def beat(self) -> None:
        """For ever, and only those that were ready: what still starts is asked by its gate."""
        while True:
            await asyncio.sleep(self._beat_s)
            due = [(name, check) for name, check in self._checks.items() if self._board.was_ready(name)]
            verdicts = await asyncio.gather(*(self._judge(check, self._timeout_s) for _, check in due))
            for (_, check), verdict in zip(due, verdicts, strict=True):
                self._board.answered(check, verdict)


def _as_answer(check: HttpCheck | PluginCheck) -> HttpCheck:
    return HttpCheck(url=check.url, status=tuple(range(100, 600)))
