"""Starting processes: each in its own session, tied to this process's life, output to a file."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from inferlane.errors import RunFault
from inferlane.running.folder.space import UNWRITABLE, unwritten
from inferlane.running.processes import proc
from inferlane.running.processes.limits import shortage
from inferlane.values import PlannedProcess


@dataclass
class Child:
    """A process that was started here. ``code``: exit status, negative = signal, ``None`` = running.

    ``asked``: we have told it to end. ``killed``: it did not, and was killed.
    """

    process: PlannedProcess
    pid: int
    log: Path
    started: float
    popen: subprocess.Popen[bytes] = field(repr=False)
    code: int | None = None
    ended: float | None = None
    asked: bool = False
    killed: bool = False

    @property
    def name(self) -> str:
        return self.process.name

    def signal_group(self, number: signal.Signals) -> None:
        """Signal its process group. It is not reaped yet, so the number cannot belong to someone else."""
        if self.code is None:
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                return


def spawn(
    process: PlannedProcess,
    argv: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    files: tuple[int, int] | None = None,
) -> Child:
    """Start one process, by its own command line or by one that brings it to its place. ``files``: the limit of open
    files that it gets, soft and hard; else ours. Call it from the main thread only: the kernel ends the child when the
    spawning *thread* ends.

    Raises ``RunFault`` if the program cannot be started.
    """
    assert threading.current_thread() is threading.main_thread()
    with _opened(log, process.name) as out:
        try:
            popen = subprocess.Popen(
                argv,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=proc.parent_death(signal.SIGKILL, files),
            )
        except (OSError, ValueError) as error:
            reason = shortage(error, forking=True) or (error.strerror if isinstance(error, OSError) else error)
            raise RunFault(f"{process.name}: cannot start {argv[0]!r}: {reason}") from error
    return Child(process=process, pid=popen.pid, log=log, started=time.monotonic(), popen=popen)


def _opened(log: Path, name: str) -> IO[bytes]:
    """The log, readable by its owner only whatever the umask is."""
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        raise RunFault(f"{name}: {unwritten(log, error)}") from error
    return os.fdopen(handle, "ab", buffering=0)


class Children:
    """Every process of the run, known from the moment it exists."""

    def __init__(self) -> None:
        self._by_pid: dict[int, Child] = {}

    def add(self, child: Child) -> None:
        """Register a child."""
        self._by_pid[child.pid] = child

    def all(self) -> tuple[Child, ...]:
        """In start order."""
        return tuple(self._by_pid.values())

    def running(self) -> tuple[Child, ...]:
        """Those that have not ended."""
        return tuple(child for child in self._by_pid.values() if child.code is None)

    def reap(self) -> list[Child]:
        """Collect everything that ended, adopted orphans too; returns our own, culprits before those that followed."""
        ended: list[Child] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            child = self._by_pid.get(pid)
            if child is not None:
                child.code = child.popen.returncode = os.waitstatus_to_exitcode(status)
                child.ended = time.monotonic()
                ended.append(child)
        return sorted(ended, key=_suspicion)


def _suspicion(child: Child) -> tuple[bool, bool, float]:
    """Of several that ended at once: not the client, not the one that ended well, the one that fell silent first."""
    try:
        silent = child.log.stat().st_mtime
    except OSError:
        silent = 0.0
    return child.process.kind == "benchmark", child.code == 0, silent
