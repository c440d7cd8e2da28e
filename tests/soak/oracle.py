"""What may come of a drill: the outcomes that its composition, and what was injected in time, leave possible."""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass

from tests.soak.composition import BUILT_IN, HARMLESS, SILENT, SLOW, Composition, Item

STOPS = {"int": signal.SIGINT, "term": signal.SIGTERM, "hup": signal.SIGHUP, "cancel": signal.SIGTERM}
KILLS = {"kill_supervisor": ("supervisor",), "kill_guardian": ("guardian",), "kill_both": ("guardian", "supervisor")}


@dataclass(frozen=True)
class Outcome:
    """A verdict with its cause. ``own``: the culprit's exit code, negative = signal. ``words``: of its log's end."""

    verdict: str
    kind: str | None = None
    process: str | None = None
    own: int | None = None
    words: str = ""


LOST = Outcome("lost")
SUCCESS = Outcome("success")
_OWN = {"exit3": 3, "exit0": 0, "crash": 1, "killed": -9, "gives_up": 7, "leaves": 0}
_WORDS = {
    "exit3": "bad flag",
    "exit0": "all done",
    "crash": "out of memory",
    "fatal_log": "CRITICAL: device lost",
    "gives_up": "last words: giving up",
    "leaves": "last words: giving up",
}

_NEVER = ("exit3", "exit0", "crash", "fatal_log", "no_program", "unhealthy", "mute")

# What happens in one of these spans may overtake each other; what belongs to a later one cannot come first.
_SPANS = {
    "start": 0.0,
    "loading": 0.0,
    "held": 0.5,
    "deadline": 1.0,
    "ready": 2.0,
    "traffic": 2.0,
    "end": 3.0,
    "silence": 4.0,
}


def allowed(made: Composition, in_time: Collection[Item], killed: Collection[str]) -> set[Outcome]:
    """``in_time``: what was injected before the run had named its cause. ``killed``: guardian or supervisor, before
    there was a verdict.
    """
    if "supervisor" in killed:
        return {LOST} if "guardian" in killed else {Outcome("failed", "supervisor", None, -9)}
    own = (*BUILT_IN, *SLOW)
    events = [_of_fault(made, item) for item in made.faults if item.kind in own or item in in_time]
    found = [event for event in events if event is not None]
    if made.ending is not None and made.ending in in_time:
        found.append((_SPANS[made.ending.moment], _of_ending(made.ending)))
    if made.bench == "ok":
        found.append((_SPANS["end"], SUCCESS))
    elif made.bench == "fail":
        found.append((_SPANS["end"], Outcome("failed", "benchmark", "bench", 9, "no results")))
    first = min(span for span, _ in found)
    return {outcome for span, outcome in found if span == first}


def _of_fault(made: Composition, item: Item) -> tuple[float, Outcome] | None:
    if item.kind in HARMLESS:
        return None
    if item.kind == "no_program":
        return _SPANS["start"], Outcome("failed", "start")
    if item.kind == "garbage":  # named is who has not served, once all are healthy
        return None if _never_healthy(made) else (_SPANS["deadline"], Outcome("not_ready", "deadline", "w0"))
    if item.kind in SLOW:
        return _SPANS["deadline"], Outcome("not_ready", "deadline", item.target)
    if item.kind == "stopped":
        return _SPANS["held"], Outcome("failed", "wedged", item.target)
    if item.kind in SILENT:
        return _SPANS["silence"], Outcome("failed", "wedged", item.target)
    kind = "fatal_log" if item.kind == "fatal_log" else "exit"
    outcome = Outcome("failed", kind, item.target, _OWN.get(item.kind), _WORDS.get(item.kind, ""))
    if item.target == "router" and item.kind in BUILT_IN and made.early and _never_healthy(made):
        return None  # it is never started
    return _SPANS[item.moment], outcome


def _never_healthy(made: Composition) -> bool:
    """Whether some worker will not become healthy, whatever comes."""
    return any(made.fault_of(name) in _NEVER or _stopped(made, name) for name in made.workers)


def _stopped(made: Composition, name: str) -> bool:
    return any(item.kind == "stopped" and item.target == name for item in made.faults)


def _of_ending(item: Item) -> Outcome:
    if item.kind in STOPS:
        number = STOPS[item.kind]
        return Outcome("interrupted" if number == signal.SIGINT else "terminated", "signal", None, -number)
    return Outcome("terminated", "signal", None, -signal.SIGTERM)
