"""What the kernel says of processes: parents, start times, environments. Linux only; reads ``/proc``."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Stat(NamedTuple):
    """The fields of ``/proc/PID/stat`` that are used here. ``start`` is in clock ticks since boot."""

    state: str
    parent: int
    group: int
    session: int
    start: int


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become_subreaper() -> None:
    """Orphaned descendants of this process become its children instead of those of process 1."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: signal.Signals, parent: int) -> None:
    """The kernel sends ``number`` to this process when the thread that forked it ends. Exits if that has happened."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def parent_death(number: signal.Signals, files: tuple[int, int] | None = None) -> Callable[[], None]:
    """A ``preexec_fn`` that ties a child to the life of the calling thread; the library is loaded before the fork.
    ``files``: the child's limit of open files, soft and hard.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    me = os.getpid()

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, files)
        if os.getppid() != me:
            os._exit(1)

    return tie


def read(pid: int, name: str) -> bytes | None:
    """A file of a process; ``None`` if there is no such process, or it may not be read. A shortage of our own is an
    ``OSError``: who cannot look must not think that there is nothing.
    """
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def owner(pid: int) -> int | None:
    """The user a process runs as."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def stat(pid: int) -> Stat | None:
    """``None`` if there is no such process."""
    text = (read(pid, "stat") or b"").decode(errors="replace")
    if ")" not in text:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(fields[0], int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def start_time(pid: int) -> int | None:
    """Ticks since boot at which ``pid`` started: with the pid it names one process for good. ``None``: not alive."""
    found = stat(pid)
    return None if found is None or found.state in "ZX" else found.start


def boot_id() -> str:
    """Changes with every boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Names the numbering that process ids of this process belong to."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def pids() -> list[int]:
    """Every process that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - called often


def children_of_all() -> dict[int, list[int]]:
    """Parent to its children, zombies included, from one pass over the process table."""
    table: dict[int, list[int]] = {}
    for pid in pids():
        found = stat(pid)
        if found is not None:
            table.setdefault(found.parent, []).append(pid)
    return table


def own_children() -> list[int]:
    """The children of this process, zombies included, as the kernel lists them; else from the process table."""
    found: list[int] = []
    try:
        for task in Path("/proc/self/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except FileNotFoundError:
        return children_of_all().get(os.getpid(), [])
    return found


def descendants(pid: int, keep: frozenset[int] = frozenset()) -> list[int]:
    """Everything below ``pid``, without the subtrees of ``keep``."""
    table = children_of_all()
    found: list[int] = []
    todo = [child for child in table.get(pid, []) if child not in keep]
    while todo:
        child = todo.pop()
        found.append(child)
        todo.extend(table.get(child, []))
    return found


def environment_of(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty if it cannot be read, as those of other users cannot."""
    raw = read(pid, "environ") or b""
    pairs = (item.partition("=") for item in raw.decode(errors="surrogateescape").split("\0") if item)
    return {name: value for name, _, value in pairs}


def command_of(pid: int) -> str:
    """The first words of a process's command line, for messages."""
    raw = read(pid, "cmdline") or b""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()[:120]


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that cannot have been collected yet, so that its number is still its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def signal_verified(pid: int, start: int, number: signal.Signals) -> bool:
    """Signal a process known by pid and start time, without the chance to hit another one. ``False``: it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if start_time(pid) != start:
            return False
        signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(handle)
    return True
