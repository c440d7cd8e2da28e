"""Closing a run whose supervisor could not: only the guardian calls this, after everything else is gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from inferlane.errors import EXIT_FAILED
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import read_events, wall_time
from inferlane.running.folder.files import write_whole
from inferlane.running.folder.space import release
from inferlane.running.leftovers import shm
from inferlane.running.leftovers.sweep import Swept, read_owner, remove_scratch
from inferlane.running.outcome import Cause, Outcome


def close_run(folder: Path, code: int, swept: Swept) -> bool:
    """Write ``run.json`` for a supervisor that left none, and remove its scratch folder. ``False``: it had left one."""
    record = read_owner(folder) or {}
    scratch = record.get("scratch")
    memory: tuple[str, ...] = ()
    if isinstance(scratch, str):
        removed, left = shm.remove(shm.recorded(Path(scratch) / shm.RECORD))
        swept, memory = replace(swept, left=(*swept.left, *left)), tuple(removed)
        remove_scratch(Path(scratch))
    target = folder / "run.json"
    if target.exists():
        return False
    reason = f"killed by signal {-code}" if code < 0 else f"gone with exit code {code} and no verdict"
    outcome = Outcome(
        id=str(record.get("run", folder.name)),
        name=str(record.get("name", "")),
        verdict="failed",
        exit_code=EXIT_FAILED,
        started=str(record.get("began", "")),
        ended=wall_time(),
        clean=not swept.left,
        cause=Cause(
            kind="supervisor",
            message=f"supervisor was {reason}{_known_cause(folder)}",
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
        ),
        left=swept.left,
        swept=swept.killed,
        memory=memory,
    )
    release(RunDirectory(folder))
    try:
        write_whole(target, msgspec.json.format(msgspec.json.encode(outcome), indent=2) + b"\n")
    except OSError:  # a full disk: the supervisor has told it, unless it was killed
        return code < 0
    return True


def _known_cause(folder: Path) -> str:
    """What the supervisor had found before it was killed while it ended the run."""
    told = [
        str(event.get("message")) for event in read_events(folder / "events.jsonl") if event["event"] == "run.cause"
    ]
    return f" while it ended the run; first cause: {told[0]}" if told else ""
