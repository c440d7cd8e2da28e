"""Noticing that processes end: who is the culprit, who followed, and what may end."""

from __future__ import annotations

from collections.abc import Callable

from inferlane.running.causes import Causes, exit_line
from inferlane.running.folder.events import EventLog
from inferlane.running.outcome import RunEnded, exit_words
from inferlane.running.processes.spawn import Child, Children
from inferlane.running.readiness.vitals import Vitals
from inferlane.values import Phase


class Exits:
    """Collects what has ended. ``followers``: critical processes that ended by themselves after the first cause."""

    def __init__(
        self, children: Children, vitals: Vitals, causes: Causes, events: EventLog, say: Callable[[str], None]
    ) -> None:
        self._children = children
        self._vitals = vitals
        self._causes = causes
        self._events = events
        self._say = say
        self.followers: list[str] = []

    def notice(self, phase: Phase, finish_log: Callable[[str], None]) -> None:
        """Collect; raises ``RunEnded`` with the first of those that should have gone on.

        ``finish_log`` reads the rest of a log: what is in it may say more than the exit.
        """
        ended = self._collect()
        culprits = [child for child in ended if _is_fatal(child, phase)]
        for child in ended:
            finish_log(child.name)
        if not culprits:
            return
        first = culprits[0]
        self.followers += [exit_line(child) for child in culprits[1:]]
        assert first.code is not None
        node = self._causes.node(first.name)
        where = f" on {node}" if node else ""
        after = (first.ended or first.started) - first.started
        message = f"{first.name}{where} ended by itself with {exit_words(first.code)} after {after:.1f} s"
        raise RunEnded("failed", self._causes.of_exit("exit", first, message))

    def after_the_end(self, failed: bool) -> None:
        """Collect while everything is told to end; after a failure, who ended untold followed."""
        for child in self._collect():
            if failed and not child.asked:
                self.followers.append(exit_line(child))

    def clients_done(self) -> bool:
        """Whether there are benchmark processes and all have ended."""
        clients = [child for child in self._children.all() if child.process.kind == "benchmark"]
        return bool(clients) and all(child.code is not None for child in clients)

    def _collect(self) -> list[Child]:
        ended = self._children.reap()
        for child in ended:
            self._vitals.end(child.name)
            code, asked, killed = child.code, child.asked, child.killed
            self._events.write("process.end", process=child.name, code=code, asked=asked, killed=killed)
            if not asked and child.process.critical == "never":
                self._say(f"{child.name} ended with {exit_words(code or 0)}; the run goes on without it")
        return ended


def _is_fatal(child: Child, phase: Phase) -> bool:
    if child.process.kind == "benchmark" or child.asked:
        return False
    if child.process.critical == "startup":
        return phase != "traffic"
    return child.process.critical == "always"
