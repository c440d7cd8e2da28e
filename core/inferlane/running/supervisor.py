"""One supervisor per run: starts phases, watches processes and logs, opens gates, keeps the first cause, ends all.

One thread, one loop. Signals only set a flag. Processes are known by handle from the moment they exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
import traceback
from collections.abc import Mapping

from msgspec.structs import replace

from inferlane.errors import RunFault
from inferlane.running.causes import Causes
from inferlane.running.clients import Clients
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import EventLog
from inferlane.running.logs.logwatch import LogRoom
from inferlane.running.outcome import Cause, RunEnded, VerdictWord
from inferlane.running.processes.exits import Exits
from inferlane.running.processes.limits import told
from inferlane.running.processes.signals import SignalFlags
from inferlane.running.processes.spawn import Children
from inferlane.running.processes.teardown import Teardown
from inferlane.running.readiness.canary import Canary
from inferlane.running.readiness.deadline import Deadline
from inferlane.running.readiness.gatekeeper import Gatekeeper
from inferlane.running.readiness.heartbeat import Heartbeat
from inferlane.running.readiness.served import Served
from inferlane.running.readiness.silence import Silence
from inferlane.running.readiness.vitals import Vitals
from inferlane.running.settings import Ending, Settings
from inferlane.running.terminal.board import Board
from inferlane.running.terminal.report import Reporter
from inferlane.values import PHASES, Phase, Plan, Summary

_MINUTE_S = 60.0
_LAG_TRIES = 4


class Supervisor:
    """Runs a bound plan. ``environments``: process name to its exact environment."""

    def __init__(
        self,
        plan: Plan,
        run: RunDirectory,
        environments: Mapping[str, Mapping[str, str]],
        addresses: Mapping[str, str],
        events: EventLog,
        reporter: Reporter,
        flags: SignalFlags,
        settings: Settings,
    ) -> None:
        self._plan = plan
        self._run = run
        self._environments = environments
        self._events = events
        self._reporter = reporter
        self._flags = flags
        self._settings = settings
        self.children = Children()
        self._vitals = Vitals(events.write)
        self._deadline = Deadline(plan.start_timeout_s, self._vitals, reporter.line, events.write)
        self.board = Board(plan, run, self.children, addresses, self._vitals)
        self._causes = Causes(plan, run, settings.hosts)
        self._exits = Exits(self.children, self._vitals, self._causes, events, reporter.line)
        self._clients = Clients(plan, run, self.children, self._causes)
        self._gates = Gatekeeper(plan, self.board, events, settings.judge, self._causes.explain, reporter.line)
        self._silence = Silence(plan, run, self.children, self._vitals, self._causes, self._warn)
        self._heartbeat = Heartbeat(plan, self.board, self._gates.judged)
        self._logs = LogRoom(plan, run, self._gates, reporter.line)
        self._wake = asyncio.Event()
        self._clients_done = asyncio.Event()
        self._phase: Phase = "infra"
        self._origin: float | None = None
        self._timings: dict[str, float] = {}
        self._warnings: list[str] = []
        self._summary: Summary | None = None
        self._served = Served(plan)
        self._counts: dict[str, int] = {}
        self._table_at = time.monotonic() + _MINUTE_S

    async def supervise(self) -> Ending:
        """Everything from the first process to the end of the last one."""
        self._flags.attach(asyncio.get_running_loop(), self._wake.set)
        verdict: VerdictWord = "success"
        cause: Cause | None = None
        try:
            await self._until_ended()
        except RunEnded as ended:
            verdict, cause = ended.verdict, ended.cause
            self._summary = ended.summary or self._summary
            self._events.write("run.cause", verdict=verdict, process=cause.process, message=cause.message)
            if verdict == "not_ready":
                self._reporter.table(self.board.rows())
        except Exception as error:  # noqa: BLE001 - a fault of ours (or a full disk) must still end everything in order
            verdict, cause = "failed", Cause(kind="internal", message=told(error))
            self._events.write("run.internal", traceback=traceback.format_exc())
        self._mark("ended")
        await self._tear_down(verdict, cause)
        if self._summary is None and self._phase == "traffic":
            self._summary = self._clients.so_far(self._settings.summarise)
        said = tuple(self._exits.followers), dict(self._timings), self._summary, self._counts, tuple(self._warnings)
        return Ending(verdict, cause, *said)

    async def _until_ended(self) -> None:
        work = asyncio.create_task(self._work())
        watch = asyncio.create_task(self._watch())
        beat = asyncio.create_task(self._heartbeat.beat())
        tasks = (watch, work, beat)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            with contextlib.suppress(BaseException):
                await asyncio.gather(*tasks, return_exceptions=True)

    # -- the work: phases in order ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        for phase in PHASES:
            await self._gates.open(phase, self._deadline)
            if phase == "traffic":
                await self._generate()
            self._phase = phase
            self._events.write("phase.start", phase=phase)
            await self._start(phase)
        await self._traffic()

    async def _generate(self) -> None:
        self._mark("gates")
        if self._plan.endpoint is not None and self._plan.upstreams:
            patience = self._settings.patience_s
            canary = Canary(self._plan, self.board, self._causes.explain, self._reporter.line, patience)
            self._events.write("generation.start", stage=canary.stage)
            tries = await canary.sing(self._deadline.at())
            self._events.write("generation.done", stage=canary.stage, tries=tries)
            self._reporter.line(f"{canary.stage}: every upstream has served ({tries} completions)")
            await self._served.begin()
        self._mark("ready")
        self._events.write("run.ready", endpoint=self._plan.endpoint)
        if self._plan.endpoint is not None:
            self._reporter.line(f"ready: {self._plan.endpoint}")
            self._reporter.ready(self._run.path, self._plan.endpoint, self._plan.served_model_name)

    async def _start(self, phase: Phase) -> None:
        processes = [process for process in self._plan.processes if process.phase == phase]
        if not processes:
            return
        self._reporter.line(
            f"phase {phase}: starting {', '.join(process.name for process in processes[:12])}"
            + (f" and {len(processes) - 12} more" if len(processes) > 12 else "")
        )
        for process in processes:
            if self._origin is None:
                self._origin = time.monotonic()
                self._deadline.begin()
            try:
                log = self._run.log(process.name)
                child = self._settings.ground.start(process, self._environments[process.name], log)
            except RunFault as fault:
                raise RunEnded("failed", Cause(kind="start", process=process.name, message=str(fault))) from fault
            self.children.add(child)
            self._vitals.begin(process.name, checked=process.name in self.board.checked)
            self._events.write("process.start", process=process.name, pid=child.pid, phase=phase, argv=process.argv)
            await asyncio.sleep(0)
        self._mark(f"phase.{phase}")

    async def _traffic(self) -> None:
        if not any(process.kind == "benchmark" for process in self._plan.processes):
            self._reporter.line("serving until stopped (Ctrl-C)")
            await asyncio.Event().wait()
        await self._clients_done.wait()
        self._mark("benchmark")
        self._counts = await self._served.count()
        for name in self._served.silent(self._counts):
            self._warn(f"{name} did not answer when the benchmark had ended; the results may be those of fewer workers")
        try:
            self._summary = await self._clients.verdict(self._settings.summarise)
        except RunEnded as ended:
            raise self._before(ended) from ended
        if self._summary is not None:
            await self._compare(self._summary)

    def _before(self, ended: RunEnded) -> RunEnded:
        """A client that failed while a worker did not answer has not failed first."""
        silent = self._vitals.wedged(0.0)
        if not silent:
            return ended
        name, seconds = silent[0]
        cause = self._causes.of_silence(name, seconds, self._vitals.answer(name), silent[1:])
        return RunEnded("failed", replace(cause, message=f"{cause.message}; then {ended.cause.message}"), ended.summary)

    async def _compare(self, summary: Summary) -> None:
        """What the client counts against what the engines count; counters may lag a little."""
        completed = summary.requests - summary.errors - summary.cancelled
        least, contradiction = self._served.shortfall(self._counts, completed)
        for _ in range(_LAG_TRIES):
            if not contradiction:
                return
            await asyncio.sleep(0.5)
            self._counts = await self._served.count()
            least, contradiction = self._served.shortfall(self._counts, completed)
        if contradiction and least <= 0:
            message = f"{contradiction}: something else has answered"
            raise RunEnded("failed", Cause(kind="benchmark", message=message), summary)
        if contradiction:
            self._warn(f"{contradiction}: something else has answered in part")

    def _warn(self, text: str) -> None:
        self._warnings.append(text)
        self._reporter.line(f"warning: {text}")

    # -- the watch: signals, exits, logs, silence ------------------------------------------------------------------

    async def _watch(self) -> None:
        tick = 0.2 if len(self._plan.processes) <= 100 else 1.0
        while True:
            self._notice_signals()
            self._exits.notice(self._phase, self._logs.finish)
            if self._exits.clients_done():
                self._clients_done.set()
            self._notice_logs()
            self._silence.notice()
            self._show()
            await self._pause(tick)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    def _notice_signals(self) -> None:
        if not self._flags.received:
            return
        number = self._flags.received[0]
        message = "the guardian process is gone" if self._orphaned() else f"stopped by {number.name}"
        verdict: VerdictWord = "interrupted" if number == signal.SIGINT else "terminated"
        raise RunEnded(verdict, Cause(kind="signal", signal=int(number), message=message))

    def _orphaned(self) -> bool:
        return self._settings.guardian not in (None, os.getppid())

    def _notice_logs(self) -> None:
        found = self._logs.read()
        if found is not None:
            process, gate, line = found
            what = f"gate {gate!r} cannot hold" if gate else "a line of its log is fatal"
            cause = Cause(
                kind="gate" if gate else "fatal_log", process=process, stage=gate, message=f"{process}: {what}: {line}"
            )
            raise RunEnded("failed", self._causes.explain(cause))

    def _show(self) -> None:
        self._settings.upkeep()
        self._reporter.progress(self.board.rows)
        if time.monotonic() >= self._table_at:
            self._table_at = time.monotonic() + _MINUTE_S
            if self._phase != "traffic":
                self._reporter.table(self.board.rows())

    # -- the end ---------------------------------------------------------------------------------------------------

    async def _tear_down(self, verdict: VerdictWord, cause: Cause | None) -> None:
        orphaned = self._orphaned()
        self._events.write("teardown.start", verdict=verdict)
        running = [child.name for child in self.children.running()]
        if running and verdict != "success":
            shown = ", ".join(running[:8]) + (f" and {len(running) - 8} more" if len(running) > 8 else "")
            why = cause.message if cause is not None else verdict
            self._reporter.line(f"{why}; stopping {shown}, within {self._settings.grace_s:g} s (again: at once)")
        calm = self._flags.calm_until() if verdict in ("interrupted", "terminated") else time.monotonic()
        teardown = Teardown(self.children, self._settings.ground, self._settings.grace_s, lambda seconds: wait(seconds))

        async def wait(seconds: float) -> None:
            await self._pause(seconds)
            self._exits.after_the_end(failed=verdict != "success")
            if self._flags.pressed_after(calm) or (self._orphaned() and not orphaned):
                teardown.hurry()

        await teardown.run(failed=verdict in ("failed", "not_ready"))
        self._mark("stopped")
        self._events.write("teardown.done", running=[child.name for child in self.children.running()])

    def _mark(self, name: str) -> None:
        if self._origin is not None:
            self._timings[name] = round(time.monotonic() - self._origin, 3)
