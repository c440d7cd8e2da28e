"""The last look: kill what is left of this process's own tree, and what dead runs of this user left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.running.leftovers import shm
from inferlane.running.processes import proc, tree

RUN_ID = "INFERLANE_RUN_ID"
RUN_DIR = "INFERLANE_RUN_DIR"
OWNER_FILE = "owner.json"
SCRATCH_PREFIX = "il-"

_JUST_MADE_S = 60.0


@dataclass(frozen=True)
class Swept:
    """``killed``: processes that had to be ended. ``left``: what is still there (``pid command``, shared memory,
    ports). ``memory``: shared memory that was removed (path and size).
    """

    killed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()


def sweep(keep: frozenset[int] = frozenset(), seconds: float = 10.0) -> Swept:
    """KILL every descendant of this process, except the subtrees of ``keep``, until none is left.

    The caller must be a child subreaper. Each round stops whatever it finds until it finds nothing new, and only then
    kills: who is stopped starts nobody. Gives up after ``seconds``: a process in an uninterruptible call cannot die.
    """
    deadline = time.monotonic() + seconds
    killed: dict[int, str] = {}
    stopped: set[int] = set()
    groups: set[int] = set()
    while True:
        try:
            alive = _reaped(proc.descendants(os.getpid(), keep))
        except OSError as error:  # we cannot look; the groups that we know may give us room
            if time.monotonic() > deadline:
                return Swept(tuple(killed.values()), (f"perhaps more: {error}",))
            for group in groups:
                proc.send(-group, signal.SIGKILL)
            time.sleep(0.05)
            continue
        if not alive and _childless(keep):
            return Swept(tuple(killed.values()))
        if time.monotonic() > deadline:
            return Swept(tuple(killed.values()), tuple(f"{pid} {proc.command_of(pid)}" for pid in alive))
        new = [pid for pid in alive if pid not in stopped]
        groups |= _groups(new)
        if not new:
            killed |= {pid: f"{pid} {proc.command_of(pid)}" for pid in alive if pid not in killed}
        number = signal.SIGSTOP if new else signal.SIGKILL
        for group in groups:
            proc.send(-group, number)
        for pid in new or alive:
            proc.send(pid, number)
        stopped.update(new)
        if not new:
            stopped.clear()  # numbers may be used again, once their processes were collected
            time.sleep(0.005)


def _groups(pids: list[int]) -> set[int]:
    """Process groups below this process. A signal to a group also reaches what its members are just starting, which
    looking at the table of processes may miss for ever. Sessions other than our own were begun below us.
    """
    own = os.getsid(0)
    found = (proc.stat(pid) for pid in pids)
    return {item.group for item in found if item is not None and item.session != own and item.group > 1}


def _childless(keep: frozenset[int]) -> bool:
    """Whether this process has no child at all. Only this proves that nothing is below it: orphans come to us, while
    the table of processes cannot be read in one moment, and who starts another and ends is easily missed.
    """
    if keep:
        return set(proc.own_children()) <= keep
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


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
    where = {"boot": proc.boot_id(), "host": os.uname().nodename, "pids": proc.pid_namespace()}
    return {"pid": pid, "start": proc.start_time(pid), **where}


def read_owner(folder: Path) -> dict[str, Any] | None:
    """The owner of a run (its guardian), as recorded in its folder."""
    try:
        record = json.loads((folder / OWNER_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("pid"), int) else None


def owner_alive(record: dict[str, Any]) -> bool | None:
    """Whether the recorded guardian lives; ``None`` if it ran on another machine, or in another container of this one:
    nothing is known here of their processes.
    """
    here = proc.pid_namespace()
    if record.get("host") != os.uname().nodename or record.get("pids", here) != here:
        return None
    return record.get("boot") == proc.boot_id() and proc.start_time(record["pid"]) == record.get("start")


def carriers(run_id: str) -> list[int]:
    """Processes that carry the run's id in their environment (this one and its guardian do not)."""
    return [pid for pid in proc.pids() if proc.environment_of(pid).get(RUN_ID) == run_id]


def said_of_dead_runs(swept: Swept) -> list[str]:
    """What of dead runs was still there, for a person."""
    return [
        *(f"ended a process that a dead run had left behind: {stray}" for stray in swept.killed),
        *(f"removed shared memory that a dead run had left behind: {segment}" for segment in swept.memory),
        *(f"a dead run has left behind: {what}" for what in swept.left),
    ]


def sweep_dead_runs() -> Swept:
    """End what runs of this user left behind whose guardian is dead: processes, shared memory, scratch folders.

    Only processes whose own environment names a run folder of this user with a dead owner on this machine, those that
    such a run had written down, and what they have started. Only shared memory that such a run had written down.
    """
    dead = _dead_scratch()
    roots: tree.Known = {}
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
            roots[pid] = start
    for folder in dead:
        roots |= tree.recorded(folder / tree.RECORD)
    ended = tree.freeze_and_kill(roots)
    tree.wait_until_gone(roots)
    removed, left = shm.remove([segment for folder in dead for segment in shm.recorded(folder / shm.RECORD)])
    for folder in dead:
        remove_scratch(folder)
    return Swept(tuple(ended), tuple(left), tuple(removed))


def _is_dead(run_id: str, folder: str) -> bool:
    record = _dead_owner(Path(folder))
    return record is not None and record.get("run") == run_id


def _dead_owner(folder: Path) -> dict[str, Any] | None:
    """The owner that this user has recorded in ``folder``, if it is dead. What others write is not believed."""
    record = read_owner(folder)
    if record is None or owner_alive(record) is not False:
        return None
    with contextlib.suppress(OSError):
        return record if (folder / OWNER_FILE).stat().st_uid == os.getuid() else None
    return None


def scratch_base() -> Path:
    """Where scratch folders go: shared memory if it is there, because sockets and segments belong in it."""
    shared = Path("/dev/shm")  # noqa: S108 - each run makes a private 0700 folder in it
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def remove_scratch(folder: Path) -> None:
    """Remove a run's scratch folder; anything else is left alone."""
    ours = folder.name.startswith(SCRATCH_PREFIX) and not folder.is_symlink() and folder.is_dir()
    if ours and folder.stat().st_uid == os.getuid():
        shutil.rmtree(folder, ignore_errors=True)


def _dead_scratch() -> list[Path]:
    """Scratch folders of this user whose run is dead, and that this boot of the machine has made."""
    found: list[Path] = []
    for folder in scratch_base().glob(f"{SCRATCH_PREFIX}*"):
        record = _dead_owner(folder)
        if record is None:
            _remove_if_abandoned(folder)
            continue
        if record.get("boot") == proc.boot_id():
            found.append(folder)
        else:
            remove_scratch(folder)
    return found


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder whose run was killed before it wrote down whose it is: one that is empty, and not just made."""
    with contextlib.suppress(OSError):
        status = folder.lstat()
        if status.st_uid == os.getuid() and abs(time.time() - status.st_mtime) > _JUST_MADE_S:
            folder.rmdir()
