"""Completing a cause: node, log and the tail of the log of the process it names."""

from __future__ import annotations

from msgspec.structs import replace

from inferlane.running.directory import RunDirectory
from inferlane.running.outcome import Cause, exit_words
from inferlane.running.spawn import Child
from inferlane.running.tails import tail
from inferlane.values import Plan


class Causes:
    """Knows the plan's processes and where their logs are."""

    def __init__(self, plan: Plan, run: RunDirectory) -> None:
        self._slots = {process.name: process.slots for process in plan.processes}
        self._run = run

    def explain(self, cause: Cause) -> Cause:
        """The cause with what is known of its process."""
        if cause.process is None:
            return cause
        log = self._run.log(cause.process)
        slots = self._slots.get(cause.process, ())
        return replace(cause, node=slots[0].node.name if slots else None, log=str(log), log_tail=tail(log))

    def of_exit(self, kind: str, child: Child, message: str) -> Cause:
        """A process's end as the cause, with its own exit code or signal."""
        code = child.code or 0
        cause = Cause(kind=kind, process=child.name, message=message)
        return self.explain(replace(cause, signal=-code) if code < 0 else replace(cause, exit_code=code))


def exit_line(child: Child) -> str:
    """A process and how it ended."""
    return f"{child.name} ({exit_words(child.code or 0)})"
