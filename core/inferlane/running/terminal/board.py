"""The board: what is known of every process right now, for progress, the minute table and the table at a timeout."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.logs.tails import last_line
from inferlane.running.outcome import exit_words
from inferlane.running.processes.spawn import Child, Children
from inferlane.running.readiness.vitals import Vitals
from inferlane.values import Check, FileCheck, LogCheck, Plan, TcpCheck, Verdict


@dataclass(frozen=True)
class Row:
    """One process: its state, seconds since it started, the last answer of a probe, the last line of its log."""

    process: str
    state: str
    seconds: float
    answer: str
    line: str


class Board:
    """Knows which process a check looks at, and makes rows. ``addresses``: node name to address."""

    def __init__(
        self, plan: Plan, run: RunDirectory, children: Children, addresses: Mapping[str, str], vitals: Vitals
    ) -> None:
        self._plan = plan
        self._run = run
        self._children = children
        self._vitals = vitals
        self._owners: dict[tuple[str, int], str] = {}
        for process in plan.processes:
            host = addresses.get(process.slots[0].node.name, "") if process.slots else ""
            for block in process.ports.values():
                if block.held:
                    self._owners.update({(host, block.first + at): process.name for at in range(block.width)})

        self.checked: frozenset[str] = frozenset(
            filter(None, (self.owner(check) for gate in plan.gates for check in gate.checks))
        )

    def owner(self, check: Check) -> str | None:
        """The process that a check looks at, if it is one of the run's."""
        if isinstance(check, LogCheck | FileCheck):
            return check.process
        return self.owner_of_url(f"tcp://{check.address}" if isinstance(check, TcpCheck) else check.url)

    def owner_of_url(self, url: str) -> str | None:
        """The process that listens at ``url``."""
        try:
            parts = urlsplit(url)
            return self._owners.get((parts.hostname or "", parts.port or 80))
        except ValueError:
            return None

    def answered(self, check: Check, verdict: Verdict) -> None:
        """Remember what a probe said."""
        name = self.owner(check)
        if name is not None:
            self._vitals.answered(name, check, verdict)

    def was_ready(self, process: str) -> bool:
        """Whether it has been ready and runs."""
        return self._vitals.state(process) in ("ready", "silent")

    def rows(self, with_lines: bool = True) -> tuple[Row, ...]:
        """Every process of the plan, in plan order."""
        children = {child.name: child for child in self._children.all()}
        return tuple(
            self._row(process.name, children.get(process.name), with_lines) for process in self._plan.processes
        )

    def _row(self, name: str, child: Child | None, with_lines: bool) -> Row:
        if child is None:
            return Row(name, "waiting", 0.0, "", "")
        seconds = (child.ended or time.monotonic()) - child.started
        line = last_line(self._run.log(name)) if with_lines else ""
        state = exit_words(child.code) if child.code is not None else self._vitals.state(name) or "starting"
        return Row(name, state, seconds, self._vitals.answer(name), line)


def table(rows: tuple[Row, ...], width: int = 160) -> list[str]:
    """Rows as aligned plain text."""
    if not rows:
        return []
    name = max(len(row.process) for row in rows)
    state = max(len(row.state) for row in rows)
    lines = []
    for row in rows:
        head = f"{row.process:<{name}}  {row.state:<{state}}  {row.seconds:>6.0f} s  "
        rest = " | ".join(part for part in (row.answer, row.line) if part)
        lines.append((head + rest)[:width].rstrip())
    return lines
