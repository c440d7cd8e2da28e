"""What the folder of a run says of it: still going, held, ended, or lost; and of each of its processes."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import read_events
from inferlane.running.folder.keepers import keepers_of
from inferlane.running.leftovers.sweep import read_owner


@dataclass(frozen=True)
class ProcessState:
    """One process. ``state``: ``waiting`` (not started), ``running`` (nothing checks it), ``starting``, ``ready``,
    ``silent`` (it was ready and does not answer any more), ``ended`` by itself, ``stopped`` when told, ``killed``, or
    ``lost`` with its run. ``seconds``: since its start, or how long it ran.
    """

    state: str = "waiting"
    reason: str = ""
    pid: int | None = None
    started: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    signal: int | None = None


@dataclass(frozen=True)
class State:
    """``word``: ``running``, ``stopping``, ``stopped`` (``held`` says who of guardian and supervisor is held), the
    verdict, ``lost`` (its guardian is dead and left no verdict) or ``unknown`` (it was started on another machine, and
    has no verdict).
    ``started`` and ``ended``: UTC. ``seconds``: its duration up to now. ``document``: ``run.json``, if there is one.
    """

    word: str
    held: tuple[str, ...]
    processes: Mapping[str, ProcessState]
    endpoint: str | None
    ready: bool
    model: str | None
    started: str | None
    ended: str | None
    seconds: float | None
    document: Mapping[str, Any] | None

    @property
    def label(self) -> str:
        """For people."""
        return "stopped (SIGSTOP)" if self.word == "stopped" else self.word.replace("_", " ")


def verdict_of(run: RunDirectory) -> dict[str, Any] | None:
    """The content of ``run.json``; ``None`` while there is none."""
    return _document(run, "run.json")


def going_on(run: RunDirectory) -> bool:
    """Whether more may come: there is no verdict, and who keeps it lives, or is out of sight."""
    if run.verdict.exists():
        return False
    keepers = keepers_of(run)
    return read_owner(run.path) is not None if keepers is None else keepers.alive


def planned(run: RunDirectory) -> tuple[str, ...]:
    """The names of its processes, in plan order."""
    found = (_document(run, "plan.json") or _document(run, "frozen/plan.json") or {}).get("processes")
    items = found if isinstance(found, list) else []
    return tuple(str(item["name"]) for item in items if isinstance(item, dict) and "name" in item)


def state_of(run: RunDirectory, brief: bool = False) -> State:
    """Read a run's state; never raises for odd content. ``brief``: without processes."""
    document = verdict_of(run)
    word, held = (str(document.get("verdict")), ()) if document is not None else _without_verdict(run)
    events = [] if brief and document is not None else list(read_events(run.events))
    if word == "running" and any(event["event"] == "teardown.start" for event in events):
        word = "stopping"
    endpoint = _last(events, "run.start", "endpoint") or (document or {}).get("endpoint")
    started = (document or {}).get("started") or (read_owner(run.path) or {}).get("began") or None
    ended = (document or {}).get("ended") or None
    until = ended if document is not None else None if word == "lost" else _now()
    names = () if brief else planned(run)
    going = word in ("running", "stopping", "stopped", "unknown")
    return State(
        word=word,
        held=held,
        processes={} if brief else _processes(names, events, until, going),
        endpoint=str(endpoint) if endpoint else None,
        ready=going and word != "stopping" and any(event["event"] == "run.ready" for event in events),
        model=None if brief else (_document(run, "plan.json") or {}).get("served_model_name"),
        started=started,
        ended=ended,
        seconds=_between(started, until),
        document=document,
    )


def _document(run: RunDirectory, name: str) -> dict[str, Any] | None:
    try:
        document = json.loads((run.path / name).read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _without_verdict(run: RunDirectory) -> tuple[str, tuple[str, ...]]:
    keepers = keepers_of(run)
    if keepers is None:
        return "unknown", ()
    if not keepers.alive:
        return "lost", ()
    return ("stopped", keepers.stopped) if keepers.stopped else ("running", ())


def _processes(
    names: Iterable[str], events: Iterable[Mapping[str, Any]], until: str | None, going: bool
) -> dict[str, ProcessState]:
    found = {name: ProcessState() for name in names}
    for event in events:
        name, what = str(event.get("process")), event["event"]
        before = found.get(name, ProcessState())
        if what == "process.start":
            found[name] = ProcessState("running", "", event.get("pid"), event.get("wall"))
        elif what == "process.state" and before.exit_code is None and before.signal is None:
            found[name] = replace(before, state=str(event.get("state")), reason=str(event.get("reason") or ""))
        elif what == "process.end":
            found[name] = _ended(before, event)
    return {name: _timed(state, until, going) for name, state in found.items()}


def _ended(before: ProcessState, event: Mapping[str, Any]) -> ProcessState:
    code = event.get("code")
    number = code if isinstance(code, int) else 0
    return replace(
        before,
        state="killed" if event.get("killed") else "stopped" if event.get("asked") else "ended",
        reason="",
        seconds=_between(before.started, event.get("wall")),
        exit_code=number if number >= 0 else None,
        signal=-number if number < 0 else None,
    )


def _timed(state: ProcessState, until: str | None, going: bool) -> ProcessState:
    if state.started is None or state.exit_code is not None or state.signal is not None:
        return state
    return replace(state, state=state.state if going else "lost", seconds=_between(state.started, until))


def _last(events: Iterable[Mapping[str, Any]], word: str, field: str) -> Any:
    values = [event.get(field) for event in events if event["event"] == word]
    return values[-1] if values else None


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat()


def _between(start: object, end: object) -> float | None:
    try:
        before, after = (datetime.datetime.fromisoformat(str(text)) for text in (start, end))
        return round(max(0.0, (after - before).total_seconds()), 3)
    except (ValueError, TypeError):
        return None
