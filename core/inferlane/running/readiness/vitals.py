"""What is known of each process's life.

``starting``: its checks do not hold yet. ``ready``. ``silent``: it was ready, and its checks fail now. ``running``: it
has no checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from inferlane.values import Check, Verdict

State = Literal["running", "starting", "ready", "silent", "ended"]
Record = Callable[..., Any]
"""Writes one event: its name, then its fields."""


@dataclass
class _Life:
    state: State
    since: float
    moved: float
    answer: str = ""
    failing: set[int] = field(default_factory=set)  # identities: a check may hold what has no hash


class Vitals:
    """Remembers the last answer and the last progress of each process, and records every change of state.

    Progress is a new line of a log, or another answer than before. Times are monotonic seconds.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lives: dict[str, _Life] = {}

    def begin(self, process: str, checked: bool) -> None:
        """It was started; ``checked``: some check looks at it."""
        now = time.monotonic()
        self._lives[process] = _Life("starting" if checked else "running", since=now, moved=now)

    def end(self, process: str) -> None:
        """It has ended, or was told to: nothing is expected of it any more."""
        life = self._lives.get(process)
        if life is not None:
            life.state = "ended"

    def answered(self, process: str, check: Check, verdict: Verdict) -> None:
        """What one of its checks says now."""
        life = self._lives.get(process)
        if life is None or life.state == "ended":
            return
        if verdict.message != life.answer:
            life.answer, life.moved = verdict.message, time.monotonic()
        if verdict.ready:
            life.failing.discard(id(check))
            if not life.failing and life.state != "running":
                self._turn(process, life, "ready")
        else:
            life.failing.add(id(check))
            if life.state == "ready":
                self._turn(process, life, "silent")

    def progressed(self, process: str) -> None:
        """Its log holds a line it never held."""
        life = self._lives.get(process)
        if life is not None:
            life.moved = time.monotonic()

    def _turn(self, process: str, life: _Life, state: State) -> None:
        if life.state != state:
            self._record("process.state", process=process, state=state, was=life.state, reason=life.answer)
            life.state, life.since = state, time.monotonic()

    def state(self, process: str) -> State | None:
        """``None``: it was not started."""
        life = self._lives.get(process)
        return None if life is None else life.state

    def answer(self, process: str) -> str:
        """What its last check said."""
        life = self._lives.get(process)
        return "" if life is None else life.answer

    def moved(self, process: str) -> float | None:
        """When it last made progress; ``None``: it does not run."""
        life = self._lives.get(process)
        return None if life is None or life.state == "ended" else life.moved

    def waiting(self) -> tuple[str, ...]:
        """Those that are not ready: a new line of their logs matters."""
        return tuple(name for name, life in self._lives.items() if life.state in ("starting", "silent"))

    def wedged(self, seconds: float) -> tuple[tuple[str, float], ...]:
        """Those that were ready, and for ``seconds`` neither hold their checks nor say anything new; longest first."""
        now = time.monotonic()
        silent = [(name, now - life.since, life) for name, life in self._lives.items() if life.state == "silent"]
        found = [(name, still) for name, still, life in silent if min(still, now - life.moved) >= seconds]
        return tuple(sorted(found, key=lambda item: -item[1]))
