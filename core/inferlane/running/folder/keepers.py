"""The two processes that keep a run, looked at and told from outside: known by pid and start time, never by name."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.leftovers.sweep import OWNER_FILE, owner_alive, read_owner
from inferlane.running.processes import proc


@dataclass(frozen=True)
class Keeper:
    """One of them. ``start``: its start time; with the pid it names one process of this boot for good."""

    name: str
    pid: int
    start: int

    @property
    def alive(self) -> bool:
        return proc.start_time(self.pid) == self.start

    @property
    def stopped(self) -> bool:
        """Whether it is held (SIGSTOP, Ctrl-Z, a debugger)."""
        found = proc.stat(self.pid)
        return found is not None and found.start == self.start and found.state in "Tt"

    def tell(self, number: signal.Signals) -> bool:
        """Signal it. ``False``: it is gone. Raises ``PermissionError``."""
        return proc.signal_verified(self.pid, self.start, number)


@dataclass(frozen=True)
class Keepers:
    """``supervisor``: ``None`` in folders of runs that did not record it."""

    guardian: Keeper
    supervisor: Keeper | None

    def all(self) -> tuple[Keeper, ...]:
        """Guardian first."""
        return (self.guardian,) if self.supervisor is None else (self.guardian, self.supervisor)

    @property
    def alive(self) -> bool:
        """Whether the run still goes on, or ends just now."""
        return any(keeper.alive for keeper in self.all())

    @property
    def stopped(self) -> tuple[str, ...]:
        """Which of them are held."""
        return tuple(keeper.name for keeper in self.all() if keeper.stopped)


def keepers_of(run: RunDirectory) -> Keepers | None:
    """Those recorded in the run's folder; ``None`` if nobody is, or of another machine or container, of which nothing
    is known here.
    """
    record = read_owner(run.path)
    if record is None:
        return None
    alive = owner_alive(record)
    if alive is None:
        return None
    guardian = _keeper("guardian", record)
    supervisor = record.get("supervisor")
    known = _keeper("supervisor", supervisor) if isinstance(supervisor, dict) else None
    if guardian is None or record.get("boot") != proc.boot_id():
        return Keepers(Keeper("guardian", record["pid"], -1), None)
    return Keepers(guardian, known)


def host_of(run: RunDirectory) -> str | None:
    """Where it was started, if that is on record."""
    record = read_owner(run.path)
    return None if record is None else str(record.get("host"))


def is_theirs(run: RunDirectory, keeper: Keeper) -> bool:
    """Whether the record and the process are of one user: a folder that somebody else made names no process of ours."""
    with contextlib.suppress(OSError):
        return (run.path / OWNER_FILE).stat().st_uid == Path(f"/proc/{keeper.pid}").stat().st_uid
    return not keeper.alive


def _keeper(name: str, record: dict[str, Any]) -> Keeper | None:
    pid, start = record.get("pid"), record.get("start")
    return Keeper(name, pid, start) if isinstance(pid, int) and isinstance(start, int) else None
