"""Which logs are followed, and what a line in them means."""

from __future__ import annotations

from collections.abc import Iterable

from inferlane.running.directory import RunDirectory
from inferlane.running.followed import LogFollower
from inferlane.running.gatekeeper import Gatekeeper
from inferlane.running.judge import compiled
from inferlane.running.tails import printable
from inferlane.values import Plan

Fatal = tuple[str, str | None, str]
"""Process, the gate that can never hold (``None``: a line that is fatal at any time), the line."""


class LogRoom:
    """Reads each log that somebody waits on, once."""

    def __init__(self, plan: Plan, run: RunDirectory, gates: Gatekeeper) -> None:
        self._gates = gates
        self._fatal = {process.name: process.fatal_log for process in plan.processes if process.fatal_log}
        wanted = set(self._fatal) | {check.process for check in gates.watches}
        wanted |= {watch.check.process for watches in gates.fails.values() for watch in watches}
        self._followers = {name: LogFollower(run.log(name)) for name in sorted(wanted)}
        self._found: Fatal | None = None

    def read(self) -> Fatal | None:
        """Show new lines to all who wait; the first fatal one, if there is one."""
        for name, follower in self._followers.items():
            self._feed(name, follower.drain(at_end=False))
        return self._found

    def finish(self, name: str) -> None:
        """Read the rest of the log of a process that has ended."""
        follower = self._followers.get(name)
        if follower is not None:
            self._feed(name, follower.drain())

    def _feed(self, name: str, lines: Iterable[str]) -> None:
        watches = [watch for check, watch in self._gates.watches.items() if check.process == name]
        pairs = [(gate, watch) for gate, all_ in self._gates.fails.items() for watch in all_]
        fails = [(gate, watch) for gate, watch in pairs if watch.check.process == name]
        patterns = [compiled(pattern) for pattern in self._fatal.get(name, ())]
        for line in lines:
            for watch in watches:
                watch.feed(line)
            if self._found is None:
                gate = next((gate for gate, watch in fails if watch.feed(line)), None)
                if gate is not None or any(pattern.search(line) for pattern in patterns):
                    self._found = (name, gate, printable(line)[:400])
