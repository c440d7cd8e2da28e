"""Whether the folder of an ended run is whole, and tells of a life that can have happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inferlane.errors import EXIT_FAILED
from inferlane.running.outcome import EXIT_CODES
from inferlane.values import PHASES

Event = Mapping[str, Any]

_ONCE = ("run.start", "run.ready", "run.cause", "teardown.start", "teardown.done", "run.end")
_LIFE = {"starting": {"ready"}, "ready": {"silent"}, "silent": {"ready"}}


def record_faults(folder: Path, cut_off: bool = False, lost: bool = False) -> list[str]:
    """One line for each thing that is wrong. ``cut_off``: the supervisor was killed, so that the events may stop
    anywhere. ``lost``: so was the guardian, and there is no verdict.
    """
    hidden = [path.name for path in folder.rglob(".*") if path.is_file()]
    faults = [f"{name} is left" for name in hidden if name != ".reserve" or not lost]
    faults += [] if folder.stat().st_mode & 0o077 == 0 else ["others may read the folder"]
    document = {} if lost else _whole(folder / "run.json", faults)
    if lost and (folder / "run.json").exists():
        faults.append("there is a verdict")
    if document:
        faults += _newest(folder)
        faults += _verdict(document)
    if not (folder / "events.jsonl").exists():
        return faults if document.get("processes") == [] or cut_off else [*faults, "no events.jsonl"]
    events = _events(folder / "events.jsonl", cut_off, faults)
    faults += _order(events, cut_off)
    faults += _lives(events, cut_off)
    faults += _phases(events, _whole(folder / "plan.json", faults))
    if document and not cut_off:
        faults += _agreement(document, events)
    return faults


def _whole(path: Path, faults: list[str]) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        faults.append(f"{path.name}: {error}")
        return {}
    return document if isinstance(document, dict) else {}


def _newest(folder: Path) -> list[str]:
    last = (folder / "run.json").stat().st_mtime_ns
    later = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_mtime_ns > last]
    return [f"{path.relative_to(folder)} was written after the verdict" for path in later]


def _verdict(document: Mapping[str, Any]) -> list[str]:
    word, code = document["verdict"], document["exit_code"]
    faults = [] if EXIT_CODES[word] == code or code > EXIT_FAILED else [f"{word} has exit code {code}"]
    if (document["cause"] is None) != (word == "success"):
        faults.append(f"{word} with the cause {document['cause']}")
    if document["clean"] != (document["left"] == []):
        faults.append(f"clean is {document['clean']}, left is {document['left']}")
    return faults


def _events(path: Path, cut_off: bool, faults: list[str]) -> list[Event]:
    events: list[Event] = []
    lines = path.read_bytes().split(b"\n")
    if lines.pop() and not cut_off:
        faults.append("the last event is cut")
    for number, line in enumerate(lines, 1):
        try:
            events.append(json.loads(line))
        except ValueError:
            faults.append(f"events.jsonl:{number}: {line!r}")
    return events


def _order(events: Sequence[Event], cut_off: bool) -> list[str]:
    names = [event["event"] for event in events]
    faults = [] if names[:1] in ([], ["run.start"]) else [f"the first event is {names[0]}"]
    faults += [
        f"{name} {names.count(name)} times" for name in dict.fromkeys(names) if name in _ONCE and names.count(name) > 1
    ]
    wanted = [name for name in _ONCE if name in names]
    if sorted(wanted, key=names.index) != wanted:
        faults.append(f"the order is {sorted(wanted, key=names.index)}")
    if not cut_off and names[-1:] != ["run.end"]:
        faults.append(f"the last event is {names[-1:]}")
    if "teardown.start" in names and "process.start" in names[names.index("teardown.start") :]:
        faults.append("a process was started in the teardown")
    times = [event["t"] for event in events]
    return faults if times == sorted(times) else [*faults, "the times go back"]


def _lives(events: Sequence[Event], cut_off: bool) -> list[str]:
    """Each process: started once, its states follow from each other, ended once."""
    state: dict[str, str] = {}
    faults: list[str] = []
    for event in events:
        name, what = str(event.get("process")), event["event"]
        was = state.get(name)
        if what == "process.start":
            faults += [f"{name} was started twice"] if was else []
            state[name] = "starting"
        elif what == "process.state" and event["state"] in ("starting", "ready", "silent"):
            if event["was"] != was or event["state"] not in _LIFE.get(str(was), ()):
                faults.append(f"{name} went from {was} (it says {event['was']}) to {event['state']}")
            state[name] = event["state"]
        elif what == "process.end":
            faults += [f"{name} ended, having been {was}"] if was in (None, "ended") else []
            state[name] = "ended"
    alive = [name for name, last in state.items() if last != "ended"]
    return faults if cut_off or not alive else [*faults, f"no end of {', '.join(alive)}"]


def _phases(events: Sequence[Event], plan: Mapping[str, Any]) -> list[str]:
    """No phase before an earlier one, none before its gates; nothing in traffic before the run is ready."""
    gates = {str(gate["name"]): PHASES.index(gate["before"]) for gate in plan.get("gates", [])}
    faults: list[str] = []
    opened: set[str] = set()
    reached = 0
    ready = False
    for event in events:
        if event["event"] == "gate.open":
            opened.add(event["gate"])
        elif event["event"] == "run.ready":
            ready = True
        elif event["event"] == "process.start":
            at = PHASES.index(event["phase"])
            closed = [name for name, before in gates.items() if before <= at and name not in opened]
            if at < reached or closed or (event["phase"] == "traffic" and not ready):
                faults.append(f"{event['process']} was started in {event['phase']} too early; closed: {closed}")
            reached = max(at, reached)
    return faults


def _agreement(document: Mapping[str, Any], events: Sequence[Event]) -> list[str]:
    """What the verdict and the events say of the same thing."""
    last = events[-1] if events else {}
    faults = [
        f"{name}: the last event says {last.get(name)}, the verdict {document[name]}"
        for name in ("verdict", "exit_code", "clean")
        if last.get(name) != document[name]
    ]
    started = {event["process"] for event in events if event["event"] == "process.start"}
    told = {item["process"] for item in document["processes"]}
    return faults if started == told else [*faults, f"started: {sorted(started)}, told: {sorted(told)}"]
