"""The last look: kill what is left of this process's own tree, and what dead runs of this user left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.running import proc

RUN_ID = "INFERLANE_RUN_ID"
RUN_DIR = "INFERLANE_RUN_DIR"
OWNER_FILE = "owner.json"
SCRATCH_PREFIX = "il-"


@dataclass(frozen=True)
class Swept:
    """``killed``: processes that had to be ended. ``left``: those that are still there (``pid command``)."""

    killed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def sweep(keep: frozenset[int] = frozenset(), seconds: float = 10.0) -> Swept:
    """KILL every descendant of this process, except the subtrees of ``keep``, until none is left.

    The caller must be a child subreaper. Gives up after ``seconds``: a process in an uninterruptible call cannot die.
    """
    deadline = time.monotonic() + seconds
    killed: dict[int, str] = {}
    while True:
        alive = _reaped(proc.descendants(os.getpid(), keep))
        if not alive:
            return Swept(tuple(killed.values()))
        if time.monotonic() > deadline:
            return Swept(tuple(killed.values()), tuple(f"{pid} {proc.command_of(pid)}" for pid in alive))
        for pid in alive:
            killed.setdefault(pid, f"{pid} {proc.command_of(pid)}")
            proc.kill(pid)
        time.sleep(0.005)


def _reaped(found: list[int]) -> list[int]:
    alive = []
    for pid in found:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                alive.append(pid)
        except ChildProcessError:  # a grandchild: it comes to us when its parent is gone
            if proc.stat(pid) is not None:
                alive.append(pid)
    return alive


def owner_record(pid: int) -> dict[str, Any]:
    """Names one process of one boot for good."""
    return {"pid": pid, "start": proc.start_time(pid), "boot": proc.boot_id(), "host": os.uname().nodename}


def read_owner(folder: Path) -> dict[str, Any] | None:
    """The owner of a run (its guardian), as recorded in its folder."""
    try:
        record = json.loads((folder / OWNER_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("pid"), int) else None


def owner_alive(record: dict[str, Any]) -> bool | None:
    """Whether the recorded guardian lives; ``None`` if it ran on another machine, of which nothing is known here."""
    if record.get("host") != os.uname().nodename:
        return None
    return record.get("boot") == proc.boot_id() and proc.start_time(record["pid"]) == record.get("start")


def carriers(run_id: str) -> list[int]:
    """Processes of this user that carry the run's id in their environment (this one and its guardian do not)."""
    return [pid for pid in proc.pids() if proc.environment_of(pid).get(RUN_ID) == run_id]


def sweep_dead_runs() -> tuple[str, ...]:
    """KILL processes of runs whose guardian is dead, and remove their scratch folders.

    Only processes of this user whose own environment names a run folder with a recorded, dead owner on this machine.
    Returns ``pid command`` of each.
    """
    ended: list[str] = []
    verdicts: dict[tuple[str, str], bool] = {}
    for pid in proc.pids():
        start = proc.start_time(pid)
        env = proc.environment_of(pid) if start is not None else {}
        run = (env.get(RUN_ID, ""), env.get(RUN_DIR, ""))
        if not all(run) or start is None:
            continue
        if run not in verdicts:
            verdicts[run] = _is_dead(*run)
        if verdicts[run]:
            command = proc.command_of(pid)
            if proc.signal_verified(pid, start, signal.SIGKILL):
                ended.append(f"{pid} {command}")
    _sweep_scratch()
    return tuple(ended)


def _is_dead(run_id: str, folder: str) -> bool:
    record = read_owner(Path(folder))
    return record is not None and record.get("run") == run_id and owner_alive(record) is False


def scratch_base() -> Path:
    """Where scratch folders go: shared memory if it is there, because sockets and segments belong in it."""
    shared = Path("/dev/shm")  # noqa: S108 - each run makes a private 0700 folder in it
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def remove_scratch(folder: Path) -> None:
    """Remove a run's scratch folder; anything else is left alone."""
    ours = folder.name.startswith(SCRATCH_PREFIX) and not folder.is_symlink() and folder.is_dir()
    if ours and folder.stat().st_uid == os.getuid():
        shutil.rmtree(folder, ignore_errors=True)


def _sweep_scratch() -> None:
    for folder in scratch_base().glob(f"{SCRATCH_PREFIX}*"):
        record = read_owner(folder)
        if record is not None and owner_alive(record) is False:
            remove_scratch(folder)
