"""``events.jsonl``: every transition of a run, one JSON object per line, with a monotonic and a wall time."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from inferlane.running.secrets import Redactor


class EventLog:
    """Appends events. ``t``: seconds since the log was opened (monotonic); ``wall``: UTC."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        path.chmod(0o600)
        self._redactor = redactor
        self._origin = time.monotonic()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):  # what a full disk did not take before, it does not take now
            self._file.close()

    def write(self, event: str, **fields: Any) -> None:
        """Append one event; a full disk must not end a run."""
        record = {"t": round(time.monotonic() - self._origin, 3), "wall": wall_time(), "event": event, **fields}
        try:
            self._file.write(self._redactor.text(json.dumps(record)) + "\n")
        except OSError:
            return


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
