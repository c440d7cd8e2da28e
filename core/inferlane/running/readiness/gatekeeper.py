"""Waiting for gates: all checks of a gate hold in one round, or its deadline passes, or it can never hold."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from inferlane.running.folder.events import EventLog
from inferlane.running.logs.followed import LogWatch
from inferlane.running.outcome import Cause, RunEnded
from inferlane.running.readiness import probes
from inferlane.running.readiness.deadline import Deadline
from inferlane.running.readiness.judge import JudgePlugin, judge_http, judge_plugin, judge_tcp
from inferlane.running.readiness.pace import Pace
from inferlane.running.terminal.board import Board
from inferlane.values import Check, FileCheck, Gate, HttpCheck, LogCheck, Plan, Reply, TcpCheck, Verdict

_AT_ONCE = 64


class Gatekeeper:
    """Holds the gates of a plan. ``explain`` completes a cause with node, log and log tail."""

    def __init__(
        self,
        plan: Plan,
        board: Board,
        events: EventLog,
        judge: JudgePlugin | None,
        explain: Callable[[Cause], Cause],
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._board = board
        self._events = events
        self._judge = judge
        self._explain = explain
        self._say = say
        self._limit = asyncio.Semaphore(_AT_ONCE)
        self._closed: set[str] = set()
        self.watches: dict[LogCheck, LogWatch] = {}
        self.fails: dict[str, list[LogWatch]] = {}
        for gate in plan.gates:
            for check in gate.checks:
                if isinstance(check, LogCheck):
                    self.watches.setdefault(check, LogWatch(check))
            self.fails[gate.name] = [LogWatch(check) for check in gate.fail_on]
        self._pace = Pace(min(plan.probe_interval_s, 1.0))

    async def open(self, phase: str, deadline: Deadline) -> None:
        """Wait for every gate before ``phase``. Raises ``RunEnded`` when there is no more time, or no more hope."""
        gates = [gate for gate in self._plan.gates if gate.before == phase]
        tasks = [asyncio.create_task(self._hold(gate, deadline)) for gate in gates]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if gates:
            deadline.phase_done()

    async def _hold(self, gate: Gate, deadline: Deadline) -> None:
        own = time.monotonic() + gate.timeout_s if gate.timeout_s is not None else math.inf
        waiting = list(gate.checks)
        tries = 0
        self._closed.add(gate.name)
        self._pace.begin(len(gate.checks))
        self._events.write("gate.wait", gate=gate.name, before=gate.before)
        while True:
            now = time.monotonic()
            until = min(own, deadline.at() if now < deadline.at() else now + self._plan.probe_timeout_s)
            verdicts = await self._round(waiting, until)
            waiting = [check for check, verdict in zip(waiting, verdicts, strict=True) if not verdict.ready]
            if not waiting and len(verdicts) < len(gate.checks):
                waiting = list(gate.checks)  # each held once; now all must hold in one round
                continue
            if not waiting:
                break
            self._judge_wait(gate, waiting, verdicts, own, deadline)
            await self._pace.rest(tries, until - time.monotonic())
            tries += 1
        self.fails[gate.name] = []
        self._closed.discard(gate.name)
        self._pace.end(len(gate.checks))
        self._events.write("gate.open", gate=gate.name, before=gate.before)
        self._say(f"gate {gate.name}: holds")

    def _judge_wait(
        self, gate: Gate, waiting: Sequence[Check], verdicts: Sequence[Verdict], own: float, deadline: Deadline
    ) -> None:
        failing = [verdict for verdict in verdicts if not verdict.ready]
        hopeless = [(check, verdict) for check, verdict in zip(waiting, failing, strict=True) if verdict.give_up]
        owners = {self._board.owner(check) for check in waiting}
        if not hopeless and time.monotonic() < own and not deadline.passed(owners):
            return
        check, verdict = hopeless[0] if hopeless else (waiting[0], failing[0])
        shown = [verdict.message] if hopeless else [item.message for item in failing]
        more = f" (and {len(shown) - 8} more)" if len(shown) > 8 else ""
        what = "cannot hold" if hopeless else "did not hold in time"
        process = self._board.owner(check)
        of = f" of {process}" if process else ""
        others = sorted(self._closed - {gate.name})
        also = f"; also waiting: {', '.join(others[:8])}" + (" …" if len(others) > 8 else "") if others else ""
        message = f"gate {gate.name!r}{of} before {gate.before} {what}: {'; '.join(shown[:8])}{more}{also}"
        cause = Cause(kind="gate" if hopeless else "deadline", message=message, process=process, stage=gate.name)
        raise RunEnded("failed" if hopeless else "not_ready", self._explain(cause))

    async def _round(self, checks: Sequence[Check], limit: float) -> list[Verdict]:
        timeout = max(0.2, min(self._plan.probe_timeout_s, limit - time.monotonic()))
        verdicts = await asyncio.gather(*(self.judged(check, timeout) for check in checks))
        for check, verdict in zip(checks, verdicts, strict=True):
            self._board.answered(check, verdict)
        return verdicts

    async def judged(self, check: Check, timeout: float) -> Verdict:
        """What one check says now."""
        if isinstance(check, LogCheck):
            return self.watches[check].verdict()
        if isinstance(check, FileCheck):
            there = Path(check.path).exists()
            return Verdict(ready=there, message="is there" if there else f"{check.path} is not there")
        if isinstance(check, TcpCheck):
            return judge_tcp(check.address, await self._limited(lambda: probes.connect(check.address, timeout)))
        reply = await self._limited(lambda: probes.get(check.url, timeout))
        return judge_http(check, reply) if isinstance(check, HttpCheck) else judge_plugin(check, reply, self._judge)

    async def _limited(self, probe: Callable[[], Awaitable[Reply]]) -> Reply:
        async with self._limit:
            return await probe()
