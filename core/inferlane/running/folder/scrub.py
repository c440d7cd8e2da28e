"""Secrets that processes write themselves: overwritten with ``*`` in place, in logs while they grow and everywhere in
the end.

A mask is as long as what it covers and goes to where that was, so nothing moves under a process that appends.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.secrets import spellings

_PIECE = 1 << 20
_PATIENCE_S = 0.05  # of one look while the run goes on
_LAST_PATIENCE_S = 120.0
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass
class _Place:
    """How far a file was searched."""

    inode: int
    done: int = 0


class Scrubber:
    """Looks for the values of ``secrets`` in what the processes of ``run`` write. Without secrets it does nothing."""

    def __init__(self, run: RunDirectory, secrets: Collection[str]) -> None:
        self._run = run
        self._in_logs = _Forms(secrets)
        self._in_files = _Forms(value for value in secrets if not _is_plain_json(value))
        self._places: dict[str, _Place] = {}
        self._turn = 0
        self.found: dict[str, int] = {}

    def tick(self) -> None:
        """Search what logs have got since the last time, for a bounded time."""
        if not self._in_logs.forms:
            return
        limit = time.monotonic() + _PATIENCE_S
        logs = [path for path in self._logs() if self._has_more(path)]
        for number in range(len(logs)):
            path = logs[(self._turn + number) % len(logs)]
            self._search(path, self._in_logs, limit)
            if time.monotonic() > limit:
                self._turn += number + 1
                break

    def finish(self) -> tuple[str, ...]:
        """Search all logs and every other file below the run folder, once nothing writes any more. Returns what a user
        should know.
        """
        if not self._in_logs.forms:
            return ()
        limit = time.monotonic() + _LAST_PATIENCE_S
        self._places.clear()  # from the start: somebody may have cut a log that was longer again when it was looked at
        logs = self._logs()
        others = [path for path in self._files() if path not in set(logs)]
        wanted = [(path, self._in_logs) for path in logs] + [(path, self._in_files) for path in others]
        unseen = [path for path, forms in wanted if not self._search(path, forms, limit)]
        said = []
        if self.found:
            where = ", ".join(f"{name} ({count})" for name, count in sorted(self.found.items()))
            said.append(f"processes wrote values of secrets, which were overwritten with *: {where}")
        if unseen:
            shown = ", ".join(os.path.relpath(path, self._run.path) for path in unseen[:8])
            more = f" and {len(unseen) - 8} more" if len(unseen) > 8 else ""
            said.append(f"could not be searched for secrets, look before you share: {shown}{more}")
        return tuple(said)

    def _logs(self) -> list[str]:
        try:
            names = os.listdir(self._run.logs)  # noqa: PTH208 - called often
        except OSError:
            return []
        return [f"{self._run.logs}/{name}" for name in sorted(names)] + [f"{self._run.path}/run.log"]

    def _files(self) -> Iterator[str]:
        for folder, _, names in os.walk(self._run.path):
            yield from (f"{folder}/{name}" for name in sorted(names))

    def _has_more(self, path: str) -> bool:
        place = self._places.get(path)
        try:
            found = os.lstat(path)
        except OSError:
            return False
        return place is None or place.inode != found.st_ino or place.done != found.st_size

    def _search(self, path: str, forms: _Forms, limit: float) -> bool:
        """Go on where it was left. ``False``: there was not enough time, or the file cannot be changed."""
        try:
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or not found.st_size:
                return True
            if found.st_nlink > 1:  # it may be somebody's file elsewhere too
                return False
            handle = _opened(path, found)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            return self._search_open(path, handle, forms, limit)
        except OSError:
            return False
        finally:
            os.close(handle)

    def _search_open(self, path: str, handle: int, forms: _Forms, limit: float) -> bool:
        found = os.fstat(handle)
        place = self._places.get(path)
        if place is None or place.inode != found.st_ino or place.done > found.st_size:
            place = self._places[path] = _Place(found.st_ino)
        count = 0
        while place.done < found.st_size and time.monotonic() <= limit:
            start = max(0, place.done - forms.longest + 1)
            raw = os.pread(handle, _PIECE + forms.longest, start)
            for at, length in forms.within(raw):
                os.pwrite(handle, b"*" * length, start + at)
                count += 1
            if start + len(raw) <= place.done:  # cut meanwhile
                break
            place.done = start + len(raw)
        if count:
            name = os.path.relpath(path, self._run.path)
            self.found[name] = self.found.get(name, 0) + count
            os.utime(handle, ns=(found.st_atime_ns, found.st_mtime_ns))  # who fell silent first is read from this
        return place.done >= found.st_size


class _Forms:
    """What to look for, as bytes, the longest first."""

    def __init__(self, values: Collection[str] | Iterator[str]) -> None:
        self.forms = tuple(form.encode(errors="surrogateescape") for form in spellings(values))
        self.longest = max(map(len, self.forms), default=0)

    def within(self, raw: bytes) -> Iterator[tuple[int, int]]:
        """Start and length of each one; what a longer one covers is not searched again."""
        for form in self.forms:
            at = raw.find(form)
            if at < 0:
                continue
            rest = bytearray(raw)
            while at >= 0:
                yield at, len(form)
                rest[at : at + len(form)] = b"*" * len(form)
                at = rest.find(form, at + len(form))
            raw = bytes(rest)


def _opened(path: str, found: os.stat_result) -> int:
    try:
        return os.open(path, _FLAGS)
    except PermissionError:
        os.chmod(path, stat.S_IMODE(found.st_mode) | 0o600)  # noqa: PTH101
        try:
            return os.open(path, _FLAGS)
        finally:
            os.chmod(path, stat.S_IMODE(found.st_mode))  # noqa: PTH101


def _is_plain_json(value: str) -> bool:
    """A number, ``true``, ``false`` or ``null``: to take it out of results would break them."""
    try:
        return not isinstance(json.loads(value), str | list | dict)
    except ValueError:
        return False
