"""Noticing what lives and does nothing: silent after it was ready, or held by a signal or a debugger."""

from __future__ import annotations

from collections.abc import Callable

from inferlane.running.causes import Causes
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.outcome import RunEnded
from inferlane.running.processes.spawn import Children
from inferlane.running.readiness.held import Held
from inferlane.running.readiness.progress import Progress, probed_paths
from inferlane.running.readiness.vitals import Vitals
from inferlane.values import Plan

_HOW = "stopped by a signal such as SIGSTOP, or by a debugger"


class Silence:
    """Raises ``RunEnded`` for a process that matters and has done nothing for ``plan.silence_s``."""

    def __init__(
        self,
        plan: Plan,
        run: RunDirectory,
        children: Children,
        vitals: Vitals,
        causes: Causes,
        warn: Callable[[str], None],
    ) -> None:
        self._limit_s = plan.silence_s
        self._run = run
        self._children = children
        self._vitals = vitals
        self._causes = causes
        self._warn = warn
        self._progress = Progress(probed_paths(plan))
        self._held = Held()
        self._said: set[int] = set()

    def notice(self) -> None:
        """Look at logs and processes; to be called again and again."""
        for name in self._vitals.waiting():
            if self._progress.moved(self._run.log(name)):
                self._vitals.progressed(name)
        self._notice_held()
        wedged = self._vitals.wedged(self._limit_s) if self._limit_s else ()
        if wedged:
            name, seconds = wedged[0]
            raise RunEnded("failed", self._causes.of_silence(name, seconds, self._vitals.answer(name), wedged[1:]))

    def _notice_held(self) -> None:
        for child, seconds in self._held.longest(self._children.running()):
            if child.pid not in self._said:
                self._said.add(child.pid)
                self._warn(f"{child.name} is {_HOW}; `kill -CONT {child.pid}` lets it go on")
            if self._limit_s and seconds >= self._limit_s and child.process.critical != "never":
                message = f"has been {_HOW}, for {seconds:.0f} s"
                raise RunEnded("failed", self._causes.of_child("wedged", child.name, message))
