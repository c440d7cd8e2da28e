"""The logs of a run as a person follows them: their ends, then what comes, until the run is over and all is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.states import State, going_on, planned
from inferlane.running.logs.followed import PIECE, LogFollower
from inferlane.running.logs.tails import printable

_BACK = 1 << 16
_FARTHEST = 1 << 26
_ROUND = 16  # pieces of one log before the next log has its turn
_PAUSE_S = 0.3


def processes_of(run: RunDirectory) -> tuple[str, ...]:
    """Those that have a log and those that are still to come, in plan order, then by name; ``job`` of a run that is
    one.
    """
    names = planned(run)
    others = {path.stem for path in run.logs.glob("*.log")} - set(names)
    job = ["job"] if (run.path / "job.json").exists() and "job" not in {*names, *others} else []
    return (*job, *names, *sorted(others))


def start_of_tail(path: Path, lines: int) -> int:
    """Where the last ``lines`` lines begin; of lines that are longer than 64 MiB together, where that begins."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            at, missing = size, lines
            while missing >= 0 and at > max(0, size - _FARTHEST):
                step = min(_BACK, at)
                at -= step
                log.seek(at)
                raw = log.read(step)
                end = len(raw) - 1 if at + step == size else len(raw)  # the last newline of all ends the last line
                while missing >= 0 and (end := raw.rfind(b"\n", 0, max(0, end))) >= 0:
                    missing -= 1
                    if missing == 0:
                        return at + end + 1
            return size if lines == 0 else at
    except OSError:
        return 0


class Following:
    """Reads the logs of ``names`` (all, if none is named), from their last ``lines`` lines on, in bounded memory.

    ``going``: says whether more may come.
    """

    def __init__(
        self, run: RunDirectory, names: Sequence[str], lines: int, going: Callable[[RunDirectory], bool] = going_on
    ) -> None:
        self._run = run
        self._going = going
        self._names = names
        alone = len(names or processes_of(run)) == 1
        self._prefix = not alone or not (names or planned(run) or run.verdict.exists())  # others may come
        self._followers = {
            name: LogFollower(run.log(name), start=start_of_tail(run.log(name), lines)) for name in self._present()
        }

    def pieces(self, follow: bool) -> Iterator[list[str]]:
        """Lines fit to be shown, some at a time; with ``follow`` until the run is over."""
        while True:
            going = follow and self._going(self._run)  # looked at first: what was written before it ended is read below
            for name in self._present():
                follower = self._followers.setdefault(name, LogFollower(self._run.log(name)))
                yield from self._new(name, follower, at_end=not going)
            if not going:
                return
            time.sleep(_PAUSE_S)

    def _present(self) -> list[str]:
        names = self._names or processes_of(self._run)
        return [name for name in names if self._run.log(name).exists()]

    def _new(self, name: str, follower: LogFollower, at_end: bool) -> Iterator[list[str]]:
        there = follower.behind() // PIECE + 1
        for _ in range(there if at_end else min(there, _ROUND)):
            yield self._shown(name, follower.lines())
        if at_end:
            yield self._shown(name, follower.lines(at_end=True))

    def _shown(self, name: str, lines: list[str]) -> list[str]:
        prefix = f"{name}: " if self._prefix else ""
        return [prefix + printable(line) for line in lines]


def last_words(run: RunDirectory, state: State) -> str:
    """One line: how the run that was followed ended."""
    if state.document is None:
        return f"{run.id} is {state.label}: nobody keeps it any more, and it left no verdict"
    cause = state.document.get("cause")
    first = f"; first cause: {' '.join(str(cause.get('message')).split())}" if isinstance(cause, dict) else ""
    return printable(f"{run.id} is over: {state.label} (exit {state.document.get('exit_code')}){first}")
