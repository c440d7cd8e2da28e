"""What the folder of a run says of it: still going, ended, or lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferlane.running.directory import RunDirectory
from inferlane.running.events import read_events
from inferlane.running.sweep import owner_alive, read_owner


@dataclass(frozen=True)
class State:
    """``word``: ``running``, the verdict, or ``lost`` (its guardian is dead and left no verdict; ``unknown`` if that
    was on another machine). ``processes``: name to what the events say. ``document``: ``run.json``, if there is one.
    """

    word: str
    processes: Mapping[str, str]
    endpoint: str | None
    ready: bool
    document: Mapping[str, Any] | None


def verdict_of(run: RunDirectory) -> dict[str, Any] | None:
    """The content of ``run.json``; ``None`` while there is none."""
    try:
        document = json.loads(run.verdict.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def state_of(run: RunDirectory) -> State:
    """Read a run's state; never raises for odd content."""
    processes: dict[str, str] = {}
    endpoint: str | None = None
    ready = False
    for event in read_events(run.events):
        name = str(event.get("process"))
        if event["event"] == "run.start":
            endpoint = event.get("endpoint")
        elif event["event"] == "run.ready":
            ready = True
        elif event["event"] == "process.start":
            processes[name] = f"running, pid {event.get('pid')}"
        elif event["event"] == "process.end":
            processes[name] = _ended(event)
    document = verdict_of(run)
    if document is not None:
        return State(str(document.get("verdict")), processes, endpoint, False, document)
    word = _without_verdict(run)
    return State(word, processes, endpoint, ready and word == "running", None)


def _ended(event: Mapping[str, Any]) -> str:
    code = event.get("code")
    how = f"signal {-code}" if isinstance(code, int) and code < 0 else f"exit code {code}"
    return f"killed ({how})" if event.get("killed") else f"stopped ({how})" if event.get("asked") else f"ended ({how})"


def _without_verdict(run: RunDirectory) -> str:
    record = read_owner(run.path)
    alive = owner_alive(record) if record is not None else None
    return "unknown" if alive is None else "running" if alive else "lost"
