"""Closing a run whose supervisor could not: only the guardian calls this, after everything else is gone."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from inferlane.errors import EXIT_FAILED
from inferlane.running.files import write_whole
from inferlane.running.sweep import Swept, read_owner, remove_scratch


def close_run(folder: Path, code: int, swept: Swept) -> bool:
    """Write ``run.json`` for a supervisor that left none, and remove its scratch folder. ``False``: it had left one."""
    record = read_owner(folder) or {}
    scratch = record.get("scratch")
    if isinstance(scratch, str):
        remove_scratch(Path(scratch))
    target = folder / "run.json"
    if target.exists():
        return False
    reason = f"killed by signal {-code}" if code < 0 else f"gone with exit code {code} and no verdict"
    status = {"signal": -code} if code < 0 else {"exit_code": code}
    cause = {"kind": "supervisor", "message": f"supervisor was {reason}", **status}
    document = {
        "id": record.get("run", folder.name),
        "verdict": "failed",
        "exit_code": EXIT_FAILED,
        "cause": cause,
        "clean": not swept.left,
        "left": list(swept.left),
        "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
    }
    try:
        write_whole(target, json.dumps(document, indent=2).encode() + b"\n")
    except OSError:  # a full disk: the supervisor has told it, unless it was killed
        return code < 0
    return True
