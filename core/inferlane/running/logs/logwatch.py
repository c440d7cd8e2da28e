"""Which logs are followed, and what a line in them means."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.logs.followed import LogFollower, LogWatch
from inferlane.running.logs.sieve import Sieve
from inferlane.running.logs.tails import printable
from inferlane.running.readiness.judge import compiled
from inferlane.values import LogCheck, Plan

Fatal = tuple[str, str | None, str]
"""Process, the gate that can never hold (``None``: a line that is fatal at any time), the line."""

_PATIENCE_S = 0.06  # of one look at all logs, so that exits and signals are noticed in between
_FAR_BEHIND = 64 << 20


class Waiting(Protocol):
    """Who waits for lines now: checks of gates, and by gate those after which it can never hold."""

    @property
    def watches(self) -> Mapping[LogCheck, LogWatch]: ...

    @property
    def fails(self) -> Mapping[str, Sequence[LogWatch]]: ...


class LogRoom:
    """Reads each log that somebody waits on, once. ``say``: told once of a log that cannot be followed as it should."""

    def __init__(
        self, plan: Plan, run: RunDirectory, gates: Waiting, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self._gates = gates
        self._say = say
        self._told: set[tuple[str, str]] = set()
        self._fatal = {process.name: process.fatal_log for process in plan.processes if process.fatal_log}
        wanted = set(self._fatal) | {check.process for check in gates.watches}
        wanted |= {watch.check.process for watches in gates.fails.values() for watch in watches}
        self._followers = {name: LogFollower(run.log(name)) for name in sorted(wanted)}
        self._turn = list(self._followers)
        self._found: Fatal | None = None

    def read(self) -> Fatal | None:
        """Show new lines to all who wait; the first fatal one, if there is one. Takes a bounded time: what it did not
        get to comes first the next time.
        """
        limit = time.monotonic() + _PATIENCE_S
        for number, name in enumerate(self._turn, 1):
            for text in self._followers[name].texts(at_end=False):
                self._feed(name, text)
                if time.monotonic() > limit:
                    break
            self._tell(name)
            if time.monotonic() > limit:
                self._turn = [*self._turn[number:], *self._turn[:number]]
                break
        return self._found

    def finish(self, name: str) -> None:
        """Read the rest of the log of a process that has ended."""
        follower = self._followers.get(name)
        if follower is not None:
            for text in follower.texts():
                self._feed(name, text)

    def _tell(self, name: str) -> None:
        follower = self._followers[name]
        behind = follower.behind()
        if behind > _FAR_BEHIND and (name, "late") not in self._told:
            self._told.add((name, "late"))
            self._say(
                f"warning: {name} writes its log faster than it can be read: {behind >> 20} MiB wait to be searched "
                f"for what gates wait for; {follower.path}"
            )
        if follower.lost and (name, "lost") not in self._told:
            self._told.add((name, "lost"))
            self._say(f"warning: somebody removed {follower.path}; what {name} writes now cannot be seen")

    def _feed(self, name: str, text: str) -> None:
        watches = [watch for check, watch in self._gates.watches.items() if check.process == name]
        pairs = [(gate, watch) for gate, all_ in self._gates.fails.items() for watch in all_]
        fails = [(gate, watch) for gate, watch in pairs if watch.check.process == name]
        patterns = self._fatal.get(name, ())
        for line in self._sieve(watches, fails, patterns).lines(text):
            for watch in watches:
                watch.feed(line)
            if self._found is None:
                gate = next((gate for gate, watch in fails if watch.feed(line)), None)
                if gate is not None or any(compiled(pattern).search(line) for pattern in patterns):
                    self._found = (name, gate, printable(line)[:400])

    @staticmethod
    def _sieve(watches: list[LogWatch], fails: list[tuple[str, LogWatch]], fatal: tuple[str, ...]) -> Sieve:
        checks = [watch.check for watch in (*watches, *(watch for _, watch in fails))]
        wanted = (pattern for check in checks for pattern in (check.pattern, check.gone) if pattern)
        return Sieve((*fatal, *wanted))
