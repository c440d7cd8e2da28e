"""Which processes a run has, written down while it goes on: for the case that guardian and supervisor are both killed.

Most carry the run's id in their environment. One that detached and cleared its environment is known only from here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from inferlane.running.processes import proc

RECORD = "processes"

Known = dict[int, int]
"""Process id to start time."""


class TreeWatch:
    """Keeps ``record`` equal to the descendants of this process."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._known: Known = {}

    def look(self) -> None:
        """One look; nothing is written where nothing has changed."""
        found: Known = {}
        for pid in proc.descendants(os.getpid()):
            start = proc.start_time(pid)
            if start is not None:
                found[pid] = start
        if found == self._known:
            return
        self._known = found
        with contextlib.suppress(OSError):  # a full disk costs the record, not the run
            draft = self._record.with_suffix(".new")
            draft.write_text("".join(f"{pid} {start}\n" for pid, start in found.items()))
            draft.replace(self._record)


def recorded(record: Path) -> Known:
    """What was written last."""
    found: Known = {}
    try:
        lines = record.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        words = line.split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            found[int(words[0])] = int(words[1])
    return found


def freeze_and_kill(roots: Known) -> list[str]:
    """KILL these processes and everything below them; returns ``pid command`` of each. They are stopped first, so that
    none starts another one meanwhile.
    """
    frozen: Known = {}
    found = dict(roots)
    while found:
        for pid, start in found.items():
            if proc.signal_verified(pid, start, signal.SIGSTOP):
                frozen[pid] = start
        table = proc.children_of_all()
        below = [child for pid in frozen for child in table.get(pid, ())]
        found = {pid: began for pid in below if pid not in frozen and (began := proc.start_time(pid)) is not None}
    ended: list[str] = []
    for pid, start in frozen.items():
        command = proc.command_of(pid)
        if proc.signal_verified(pid, start, signal.SIGKILL):
            ended.append(f"{pid} {command}")
    return ended


def wait_until_gone(processes: Known, seconds: float = 5.0) -> None:
    """Return once none of them lives, or after ``seconds``."""
    deadline = time.monotonic() + seconds
    while any(proc.start_time(pid) == start for pid, start in processes.items()) and time.monotonic() < deadline:
        time.sleep(0.01)
