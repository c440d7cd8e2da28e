"""Completing a cause: node, log and the tail of the log of the process it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.logs.tails import tail
from inferlane.running.outcome import Cause, exit_words
from inferlane.running.processes.spawn import Child
from inferlane.running.readiness.judge import compiled
from inferlane.values import Plan

_CLAIM_LINES, _CLAIM_BYTES = 2000, 256 << 10  # a server that waits says little after it is up


class Causes:
    """Knows the plan's processes and where their logs are. ``hosts``: node of the plan to the machine's own name."""

    def __init__(self, plan: Plan, run: RunDirectory, hosts: Mapping[str, str]) -> None:
        self._slots = {process.name: process.slots for process in plan.processes}
        self._hosts = hosts
        self._ready_log = {process.name: process.ready_log for process in plan.processes if process.ready_log}
        self._run = run

    def explain(self, cause: Cause) -> Cause:
        """The cause with what is known of its process."""
        if cause.process is None:
            return cause
        log = self._run.log(cause.process)
        cause = replace(cause, node=self.node(cause.process), log=str(log), log_tail=tail(log))
        claim = self._claim(log) if cause.kind == "deadline" else ""
        if not claim:
            return cause
        said = f"its log says that it is up ({claim}), but its checks disagree: compare the address it serves on"
        return replace(cause, message=f"{cause.message}; {said}")

    def node(self, process: str) -> str | None:
        """Its first node, by the machine's own name where that is known."""
        slots = self._slots.get(process, ())
        return self._hosts.get(slots[0].node.name, slots[0].node.name) if slots else None

    def _claim(self, log: Path) -> str:
        """The last line by which a process says that it serves, if its plugin knows one."""
        patterns = [compiled(pattern) for pattern in self._ready_log.get(log.stem, ())]
        lines = tail(log, _CLAIM_LINES, _CLAIM_BYTES) if patterns else ()
        return next((line for line in reversed(lines) if any(p.search(line) for p in patterns)), "")

    def of_exit(self, kind: str, child: Child, message: str) -> Cause:
        """A process's end as the cause, with its own exit code or signal."""
        code = child.code or 0
        cause = Cause(kind=kind, process=child.name, message=message)
        return self.explain(replace(cause, signal=-code) if code < 0 else replace(cause, exit_code=code))

    def of_child(self, kind: str, process: str, message: str) -> Cause:
        """A cause that begins with the process and its node."""
        cause = self.explain(Cause(kind=kind, process=process, message=""))
        return replace(cause, message=f"{process} on {cause.node} {message}")

    def of_silence(self, process: str, seconds: float, answer: str, others: Sequence[tuple[str, float]]) -> Cause:
        """A process that was ready and is not any more, though it lives; ``others``: who else is silent."""
        also = f"; silent too: {', '.join(name for name, _ in others[:8])}" if others else ""
        message = (
            f"was ready, and for {seconds:.0f} s it has neither held its checks nor written anything new, though it "
            f"runs; last answer: {answer}{also}"
        )
        return self.of_child("wedged", process, message)


def exit_line(child: Child) -> str:
    """A process and how it ended."""
    return f"{child.name} ({exit_words(child.code or 0)})"
