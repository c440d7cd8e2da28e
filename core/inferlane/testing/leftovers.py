"""What a run has left on this machine, found without asking the run: processes, listeners, folders, files."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from inferlane.running.leftovers.sweep import RUN_ID, SCRATCH_PREFIX, scratch_base
from inferlane.running.processes import proc
from inferlane.testing.runs import Running

_PR_SET_CHILD_SUBREAPER = 36
_NETWORK = re.compile(r"127\.(\d+)\.(\d+)\.\d+")


@contextlib.contextmanager
def watching() -> Iterator[Callable[[Running], list[str]]]:
    """While this lasts, this process adopts what a run orphans; gives the function that lists what an ended run has
    left, and ends it, so that one failure is not two.
    """
    before = frozenset(proc.descendants(os.getpid()))
    proc.become_subreaper()
    try:
        yield lambda run: _taken(run, before)
    finally:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _taken(run: Running, before: frozenset[int]) -> list[str]:
    found = leftovers(run, before)
    _end_all(processes(run, before))
    return found


def leftovers(run: Running, before: frozenset[int] = frozenset()) -> list[str]:
    """One line for each thing that an ended run has left. ``before``: children that this process had already."""
    found = [f"process {pid} {proc.command_of(pid)!r}" for pid in processes(run, before)]
    for folder in run.outputs.iterdir() if run.outputs.exists() else ():
        found += _scratch(folder)
        found += [f"socket {name}" for name in _sockets(run, folder)]
    found += [f"temporary {path.name}" for path in run.mark.iterdir()] if run.mark.is_dir() else []
    return found


def processes(run: Running, before: frozenset[int] = frozenset()) -> list[int]:
    """Those that carry the run's mark or id, and those that came to us when their parents died, whatever they carry."""
    ids = {folder.name for folder in run.outputs.iterdir()}
    found = [pid for pid in proc.pids() if _carries(pid, run, ids)]
    below = [pid for pid in proc.descendants(os.getpid()) if pid not in before and pid != run.popen.pid]
    return sorted(pid for pid in {*found, *below} if proc.start_time(pid) is not None)


def _end_all(pids: list[int]) -> None:
    for pid in pids:
        start = proc.start_time(pid)
        if start is not None:
            proc.signal_verified(pid, start, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(proc.start_time(pid) is not None for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)


def _carries(pid: int, run: Running, ids: set[str]) -> bool:
    env = proc.environment_of(pid)
    return env.get("TMPDIR") == str(run.mark) or env.get(RUN_ID) in ids


def _scratch(folder: Path) -> list[str]:
    found = []
    for scratch in scratch_base().glob(f"{SCRATCH_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            if json.loads((scratch / "owner.json").read_bytes()).get("run") == folder.name:
                found.append(f"scratch folder {scratch}")
    return found


def _sockets(run: Running, folder: Path) -> list[str]:
    """What is held in two looks: a stranger may end between the list of sockets and that of their holders."""
    first = _held(run, folder)
    if first:
        time.sleep(0.3)
        first &= _held(run, folder)
    return sorted(first)


def _held(run: Running, folder: Path) -> set[str]:
    """Listeners on the run's networks and the locks of these, unless a process of somebody else holds them by now."""
    with contextlib.suppress(OSError):
        networks = set(_NETWORK.findall((folder / "plan.json").read_text()))
        held = {inode: name for inode, name in (*_tcp(), *_unix()) if _is_in(name, networks)}
        holders = _holders(set(held)) if held else {}
        strangers = {inode for inode, pid in holders.items() if not _carries(pid, run, {folder.name})}
        return {f"{name} ({inode})" for inode, name in held.items() if inode not in strangers}
    return set()


def _is_in(name: str, networks: set[tuple[str, str]]) -> bool:
    return any(name.startswith((f"127.{a}.{b}.", f"@inferlane-slot-{a}-{b} ")) for a, b in networks)


def _tcp() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A":
            raw, _, port = fields[1].partition(":")
            address = ".".join(str(byte) for byte in reversed(bytes.fromhex(raw)))
            yield fields[9], f"{address}:{int(port, 16)}"


def _unix() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
        fields = line.split()
        if fields[-1].startswith("@inferlane-slot-"):
            yield fields[6], f"{fields[-1]} "


def _holders(inodes: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            name = str(link.readlink())
            if name.startswith("socket:[") and name[8:-1] in inodes:
                found[name[8:-1]] = int(link.parts[2])
    return found
