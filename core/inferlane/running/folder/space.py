"""Room on the disk of the run folder: told before it is used up, and kept for the verdict."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from inferlane.errors import RunFault
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.processes.limits import shortage

_MINUTE_S = 60.0
_LITTLE = 1 << 30
_SHARE = 100  # less than one part in so many is little too
_NOTHING = 1 << 20
_RESERVE = ".reserve"
_RESERVED = 256 << 10


UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE)
"""Faults of a disk or a folder, not of a program."""


def unwritten(path: Path, error: OSError) -> str:
    """One line on a path of a run that cannot be written, and what to do."""
    if line := shortage(error):
        return line
    reason = error.strerror or str(error)
    return f"cannot write to {path}: {reason}; make room there, or choose another folder with -o"


def reserve(run: RunDirectory) -> None:
    """Take the room that the verdict will need, so that a disk that fills up cannot cost it."""
    try:
        run.write(_RESERVE, os.urandom(_RESERVED))  # nothing that a file system can make small
    except OSError as error:
        raise RunFault(unwritten(run.path, error)) from error


def release(run: RunDirectory) -> None:
    """Give that room back, just before the verdict is written."""
    with contextlib.suppress(OSError):
        (run.path / _RESERVE).unlink(missing_ok=True)


class SpaceWatch:
    """Looks once a minute and says once that there is little room left, again after there was enough in between."""

    def __init__(self, run: RunDirectory, say: Callable[[str], None]) -> None:
        self._run = run
        self._say = say
        self._next = 0.0
        self._told = False

    def tick(self) -> None:
        """Cheap; call it as often as you like."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _MINUTE_S
        found = _room(self._run)
        if found is None:
            return
        free, size = found
        if free >= _LITTLE and free * _SHARE >= size:
            self._told = False
        elif not self._told:
            self._told = True
            biggest = self._biggest_log()
            grown = f"; the biggest log is {biggest[1]} with {_amount(biggest[0])}" if biggest else ""
            self._say(f"warning: only {_amount(free)} free for {self._run.path}{grown}")

    def full(self) -> str | None:
        """One line if there is no room for anything any more, or no folder, and so no telling what is missing."""
        if not self._run.logs.is_dir():
            return f"{self._run.path} was removed during the run; its logs and results are gone"
        found = _room(self._run)
        if found is None or found[0] >= _NOTHING:
            return None
        text = "logs and results may be cut; make room there, or choose another folder with -o"
        return f"the disk of {self._run.path} is full ({_amount(found[0])} free); {text}"

    def _biggest_log(self) -> tuple[int, str] | None:
        try:
            with os.scandir(self._run.logs) as logs:
                return max(((log.stat(follow_symlinks=False).st_size, log.path) for log in logs), default=None)
        except OSError:
            return None


def _room(run: RunDirectory) -> tuple[int, int] | None:
    """Bytes that are free to this user, and the size of the file system; free is 0 if it has no room for names."""
    try:
        found = os.statvfs(run.path)
    except OSError:
        return None
    nameless = found.f_files > 0 and found.f_favail == 0
    return 0 if nameless else found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def _amount(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MiB"
