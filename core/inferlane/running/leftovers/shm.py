"""Shared memory of a run: files in /dev/shm that its own processes were seen to hold, and that nobody holds any more.

Never by name: a file belongs to a run when it was not there before it, and a process of the run's own tree had it open
or mapped. Files are told apart by device and inode, so that odd names and private mounts confuse nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat as modes
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from inferlane.running.processes import proc

FOLDER = Path("/dev/shm")  # noqa: S108 - where the kernel keeps POSIX shared memory
RECORD = "memory.jsonl"

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 10.0


class Key(NamedTuple):
    """Names one file for as long as it exists."""

    device: int
    inode: int


class Segment(NamedTuple):
    """A file that a process of the run was seen to hold. ``uid``: whose it and that process are."""

    path: str
    key: Key
    uid: int


def listing(folder: Path = FOLDER) -> dict[Key, str]:
    """The files right below ``folder``; nothing where it is missing."""
    found: dict[Key, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if modes.S_ISREG(status.st_mode):
                        found[Key(status.st_dev, status.st_ino)] = entry.path
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    return found


def held(pid: int, files: Mapping[Key, str]) -> set[Key]:
    """Which of ``files`` a process has mapped or open; none if that cannot be read."""
    return _mapped(pid, files) | _opened(pid, files)


def _mapped(pid: int, files: Collection[Key]) -> set[Key]:
    raw = proc.read(pid, "maps") or b""
    wanted = {f"{key.inode}".encode(): key for key in files if f" {key.inode} ".encode() in raw}
    found: set[Key] = set()
    for line in raw.splitlines() if wanted else ():
        fields = line.split(None, 5)
        key = wanted.get(fields[4])
        if key is not None and _device(fields[3]) == key.device:
            found.add(key)
    return found


def _device(text: bytes) -> int:
    major, _, minor = text.partition(b":")
    return os.makedev(int(major, 16), int(minor, 16))


def _opened(pid: int, files: Mapping[Key, str]) -> set[Key]:
    names = tuple({os.path.basename(path) for path in files.values()})  # noqa: PTH119 - names may be of any bytes
    found: set[Key] = set()
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError, PermissionError, ProcessLookupError):
                    link = os.readlink(entry.path)  # noqa: PTH115
                    if link.rpartition("/")[2].startswith(names):  # asking a file of a dead server would block
                        status = os.stat(entry.path)  # noqa: PTH116
                        found.add(Key(status.st_dev, status.st_ino))
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return set()
    return found & set(files)


class MemoryWatch:
    """Looks again and again which new files the processes of a run hold, and appends them to ``record``.

    ``tree``: the processes of the run. Make it before the first of them starts.
    """

    def __init__(self, record: Path, tree: Callable[[], Iterable[int]] = lambda: proc.descendants(os.getpid())) -> None:
        self._record = record
        self._tree = tree
        self._before = set(listing())
        self._waits: dict[Key, tuple[float, float]] = {}
        self.segments: dict[Key, Segment] = {}

    def look(self) -> None:
        """One look; nothing but a listing where no file is new. Whom nobody of ours holds is asked about less often."""
        now = time.monotonic()
        there = listing()
        new = {key: path for key, path in there.items() if key not in self._before and key not in self.segments}
        self._waits = {key: self._waits.get(key, (0.0, _FIRST_WAIT_S)) for key in new}
        due = {key: path for key, path in new.items() if self._waits[key][0] <= now}
        if not due:
            return
        for pid in self._tree():
            uid = proc.owner(pid)
            for key in held(pid, due):
                self._found(Segment(due.pop(key), key, -1 if uid is None else uid))
            if not due:
                return
        for key in due:
            wait = self._waits[key][1]
            self._waits[key] = (now + wait, min(wait * 2, _LONGEST_WAIT_S))

    def _found(self, segment: Segment) -> None:
        with contextlib.suppress(OSError):
            status = os.lstat(segment.path)
            if Key(status.st_dev, status.st_ino) != segment.key or status.st_uid != segment.uid:
                self._before.add(segment.key)  # somebody else's, of whom we are a guest
                return
            self.segments[segment.key] = segment
            append(self._record, [segment.path, *segment.key, segment.uid])


def append(record: Path, item: object) -> None:
    """Add a line to a record; a full disk costs the line, not the run."""
    with contextlib.suppress(OSError):
        handle = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(json.dumps(item).encode() + b"\n")


def recorded(record: Path) -> list[Segment]:
    """What an earlier supervisor recorded; lines that were cut off are left out."""
    found: list[Segment] = []
    try:
        lines = record.read_bytes().splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            path, device, inode, uid = json.loads(line)
            found.append(Segment(str(path), Key(int(device), int(inode)), int(uid)))
    return found


def remove(segments: Iterable[Segment]) -> tuple[list[str], list[str]]:
    """Remove those that are still the same file, whatever it is called by now, and that no process holds. Returns what
    was removed and what stays, as text: path and size, and who holds it.
    """
    owned = {segment.key: segment for segment in segments}
    names: dict[Key, str] = {}
    for folder in {Path(segment.path).parent for segment in owned.values()}:
        names |= {key: path for key, path in listing(folder).items() if key in owned}
    holders = _holders(names)
    removed: list[str] = []
    left: list[str] = []
    for key, path in names.items():
        said = path
        try:
            status = os.lstat(path)
            if Key(status.st_dev, status.st_ino) != key or status.st_uid != owned[key].uid:
                continue
            said = f"{path} ({size_text(status.st_size)})"
            if key in holders:
                left.append(f"shared memory {said}, held by {holders[key]}")
                continue
            os.unlink(path)  # noqa: PTH108
            removed.append(said)
        except FileNotFoundError:
            continue
        except OSError as error:
            left.append(f"shared memory {said}: {error.strerror}")
    return removed, left


def _holders(files: Mapping[Key, str]) -> dict[Key, str]:
    found: dict[Key, str] = {}
    for pid in proc.pids() if files else ():
        for key in held(pid, files):
            found.setdefault(key, f"{pid} {proc.command_of(pid)}")
    return found


def size_text(size: int) -> str:
    """``12 MiB``."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
