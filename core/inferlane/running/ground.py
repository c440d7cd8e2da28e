"""Where processes run: how they are started there, and told to end."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Protocol

from inferlane.running.processes import proc
from inferlane.running.processes.limits import FileLimit
from inferlane.running.processes.spawn import Child, spawn
from inferlane.values import PlannedProcess


class Ground(Protocol):
    """What the supervisor needs of a place. Every child is a process of ours there; ``ask`` and ``kill`` reach the
    program itself, wherever it runs.
    """

    def start(self, process: PlannedProcess, env: Mapping[str, str], log: Path) -> Child:
        """Raises ``RunFault`` if it cannot be started."""
        ...

    def ask(self, children: Sequence[Child]) -> None:
        """TERM."""
        ...

    def kill(self, children: Sequence[Child]) -> None:
        """KILL, with everything that belongs to them."""
        ...


class ThisMachine:
    """Processes of this machine. ``files``: their limit of open files, else ours."""

    def __init__(self, files: FileLimit | None = None) -> None:
        self._files = files

    def start(self, process: PlannedProcess, env: Mapping[str, str], log: Path) -> Child:
        return spawn(process, process.argv, env, log, self._files)

    def ask(self, children: Sequence[Child]) -> None:
        for child in children:
            child.signal_group(signal.SIGTERM)
            child.signal_group(signal.SIGCONT)  # who was stopped must run to hear it

    def kill(self, children: Sequence[Child]) -> None:
        for pid in in_sessions({child.pid for child in children}):
            proc.send(pid, signal.SIGKILL)
        for child in children:
            child.signal_group(signal.SIGKILL)


def in_sessions(leaders: AbstractSet[int]) -> list[int]:
    """Every process of these sessions, whatever its group. Leaders are not reaped yet, so the numbers are ours."""
    if not leaders:
        return []
    return [pid for pid in proc.pids() if (found := proc.stat(pid)) is not None and found.session in leaders]
