"""What is done for the run folder while a run goes on, and once more when everything is gone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import replace

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.scrub import Scrubber
from inferlane.running.folder.space import SpaceWatch
from inferlane.running.outcome import Cause
from inferlane.running.settings import Ending
from inferlane.values import Plan


class Upkeep:
    """``secrets``: values that no file below the run folder may hold. ``say``: shows a line."""

    def __init__(self, plan: Plan, run: RunDirectory, secrets: Collection[str], say: Callable[[str], None]) -> None:
        self._secret_files = [
            run.files / process.name / file.name for process in plan.processes for file in process.files if file.secret
        ]
        self._run = run
        self._say = say
        self._scrubber = Scrubber(run, secrets)
        self._space = SpaceWatch(run, say)

    def tick(self) -> None:
        """At each turn of the supervisor; takes a bounded time, and none where there is nothing to do."""
        self._scrubber.tick()
        self._space.tick()

    def finish(self) -> tuple[str, ...]:
        """When nothing writes any more: files with secrets go, and what processes wrote of them is covered. Returns
        warnings for the verdict, already said.
        """
        for path in self._secret_files:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        full = self._space.full()
        warnings = (*self._scrubber.finish(), *([full] if full else []))
        for line in warnings:
            self._say(f"warning: {line}")
        return warnings

    def judged(self, ending: Ending, lost: int) -> Ending:
        """A run that ended well is none if its record is not whole. ``lost``: events that could not be written."""
        full = self._space.full()
        if ending.verdict != "success" or not (full or lost):
            return ending
        message = full or f"{self._run.path} could not take {lost} events; was its disk full?"
        return replace(ending, verdict="failed", cause=Cause(kind="disk", message=message))
