"""``events.jsonl``: every transition of a run, one JSON object per line, with a monotonic and a wall time."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from inferlane.running.folder.secrets import Redactor


class EventLog:
    """Appends events. ``t``: seconds since the log was opened (monotonic); ``wall``: UTC. ``lost``: how many events a
    full disk did not take; it never holds half of one.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._redactor = redactor
        self.lost = 0
        self._origin = time.monotonic()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):  # a file server may tell only now
            os.close(self._handle)

    def write(self, event: str, **fields: Any) -> None:
        """Append one event; a full disk must not end a run."""
        record = {"t": round(time.monotonic() - self._origin, 3), "wall": wall_time(), "event": event, **fields}
        line = self._redactor.content(json.dumps(record).encode()) + b"\n"
        written = 0
        try:
            written = os.write(self._handle, line)
        except OSError:
            written = 0
        if written < len(line):
            self.lost += 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, os.fstat(self._handle).st_size - written)


def wall_time() -> str:
    """Now, in UTC, as text."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a run, whether it is still going or was cut off in the middle of a line."""
    try:
        raw = path.read_bytes()
    except OSError:
        return
    for line in raw.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "event" in record:
            yield record
