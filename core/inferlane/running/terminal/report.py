"""What a user sees while a run goes on, and at its end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import msgspec

from inferlane.errors import EXIT_FAILED
from inferlane.running.folder.secrets import Redactor
from inferlane.running.logs.tails import printable
from inferlane.running.outcome import Ended, Outcome, exit_words
from inferlane.running.readiness.served import served_lines
from inferlane.running.terminal.board import Row, table
from inferlane.running.terminal.hints import attach_lines
from inferlane.running.terminal.outlet import Outlet
from inferlane.running.terminal.screen import Screen, in_foreground, is_live

_LAST_WORDS_S = 10.0
_MOST_PROCESSES = 24
_MOST_HELD = 1000


class Reporter:
    """Plain lines on ``out``. With ``as_json`` stdout gets the verdict's JSON and nothing else; lines go to stderr.

    Nothing here waits for a reader or raises: a run does not depend on whether its progress can be shown.
    """

    live = False

    def __init__(self, as_json: bool = False, out: TextIO | None = None, moves: bool = False) -> None:
        self._as_json = as_json
        self._outlet = Outlet(out or (sys.stderr if as_json else sys.stdout), moves)
        self._start = time.monotonic()
        self.redactor = Redactor()

    def line(self, text: str) -> None:
        """One line of progress."""
        self._write([f"[{time.monotonic() - self._start:7.1f} s] {text}"])

    def table(self, rows: tuple[Row, ...]) -> None:
        """Every process, at each minute and at a timeout."""
        self._write([f"    {text}" for text in table(rows)])

    def ready(self, folder: Path, endpoint: str, model: str) -> None:
        """What to type now: try it, follow it, stop it."""
        self._write([f"    {text}" for text in attach_lines(folder, endpoint, model)])

    def progress(self, rows: Callable[[], tuple[Row, ...]]) -> None:
        """Refresh what moves, and hand on what a slow reader has not taken yet."""
        self._outlet.drain(0)

    def close(self) -> None:
        """Stop moving."""

    def final(self, outcome: Outcome, folder: str) -> int:
        """The verdict. Returns the exit status: the run's, or 1 where a document was asked for and cannot be had."""
        self.close()
        self._write(final_lines(outcome, folder))
        self._outlet.drain(_LAST_WORDS_S)
        return self._document(outcome, folder) if self._as_json else outcome.exit_code

    def _document(self, outcome: Outcome, folder: str) -> int:
        content = msgspec.json.format(msgspec.json.encode(outcome), indent=2)
        try:
            sys.stdout.write(self.redactor.content(content).decode() + "\n")
            sys.stdout.flush()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self._write([f"error: the verdict could not be written to stdout: {reason}; it is in {folder}/run.json"])
            return outcome.exit_code or EXIT_FAILED
        return outcome.exit_code

    def _write(self, texts: Sequence[str]) -> None:
        self._outlet.write("".join(f"{text}\n" for text in self._shown(texts)))

    def _shown(self, texts: Sequence[str]) -> list[str]:
        return [printable(self.redactor.text(text)) for text in texts]


class LiveReporter(Reporter):
    """A terminal: lines as before, and below them a table that is refreshed in place. No thread.

    While the command is not in the foreground (Ctrl-Z, ``bg``) the run goes on and nothing is written over the shell;
    what there was to say is said when it is back, or when the run is over. ``guardian``: who holds the terminal.
    """

    live = True

    def __init__(self, out: TextIO, guardian: int) -> None:
        super().__init__(out=out)
        self._screen = Screen(self._outlet, out.fileno())
        self._guardian = guardian
        self._held: list[str] = []
        self._refreshed = 0.0

    def progress(self, rows: Callable[[], tuple[Row, ...]]) -> None:
        self._outlet.drain(0)
        if self._outlet.waiting or self._outlet.broken or time.monotonic() - self._refreshed < 1.0:
            return
        self._refreshed = time.monotonic()
        if not in_foreground(self._guardian):
            self._screen.forget()
            return
        self._let_go()
        self._screen.draw([_safe(row, self.redactor) for row in rows()])

    def close(self) -> None:
        if in_foreground(self._guardian):
            self._screen.erase()
        self._let_go()

    def final(self, outcome: Outcome, folder: str) -> int:
        status = super().final(outcome, folder)
        self._let_go()  # the run is over, wherever the command is
        self._outlet.drain(_LAST_WORDS_S)
        return status

    def _write(self, texts: Sequence[str]) -> None:
        self._held += self._shown(texts)
        if in_foreground(self._guardian):
            self._let_go()
        else:
            self._screen.forget()
            del self._held[:-_MOST_HELD]

    def _let_go(self) -> None:
        if self._held:
            self._screen.lines(self._held)
            self._held = []


def _safe(row: Row, redactor: Redactor) -> Row:
    answer, line = (printable(redactor.text(text)) for text in (row.answer, row.line))
    return replace(row, answer=answer, line=line)


def reporter(as_json: bool, live: bool = True) -> Reporter:
    """The right one for where stdout goes. ``live``: false for a run that detaches."""
    if live and not as_json and is_live(os.environ, sys.stdout.isatty()):
        return LiveReporter(sys.stdout, os.getppid())
    return Reporter(as_json, moves=not live)


def counted(number: int, one: str, many: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {one if number == 1 else many}"


def final_lines(outcome: Outcome, folder: str) -> list[str]:
    """The end of a run, for a person: first cause, tail of its log, what followed, whether all is gone."""
    lines = process_table(outcome)
    if outcome.cause is not None:
        lines.append(f"first cause: {outcome.cause.message}")
        if outcome.cause.log and not outcome.cause.log_tail:
            lines.append(f"  its log is empty: {outcome.cause.log}")
        if outcome.cause.log_tail:
            lines.append(f"  last lines of {outcome.cause.log}:")
            lines += [f"    {line}" for line in outcome.cause.log_tail]
    if outcome.followers:
        lines.append(f"ended after it: {'; '.join(outcome.followers)}")
    killed = [item.process for item in outcome.processes if item.state == "killed"]
    if killed:
        lines.append(f"killed after the grace: {', '.join(killed)}")
    if outcome.swept:
        lines.append(f"stray processes ended: {'; '.join(outcome.swept)}")
    if outcome.memory:
        lines.append(f"shared memory removed: {'; '.join(outcome.memory)}")
    if outcome.left:
        lines.append(f"not clean, still there: {'; '.join(outcome.left)}")
    if outcome.summary is not None:
        if outcome.summary.rows:
            lines += ["", *result_table(outcome.summary.rows), ""]
        lines.append(_summary_line(outcome))
    lines += served_lines(outcome.served)
    clean = "everything is gone" if outcome.clean else "NOT everything is gone"
    lines.append(f"{outcome.verdict.replace('_', ' ')} (exit {outcome.exit_code}); {clean}; run folder {folder}")
    return lines


def process_table(outcome: Outcome) -> list[str]:
    """What became of each process; where not all fit, those that did not simply stop when told."""
    culprit = outcome.cause.process if outcome.cause is not None else None
    odd = sorted(outcome.processes, key=lambda item: (item.process != culprit, item.state == "stopped"))
    shown = outcome.processes if len(odd) <= _MOST_PROCESSES else tuple(odd[:_MOST_PROCESSES])
    name = max((len(item.process) for item in shown), default=0)
    lines = [f"    {item.process:<{name}}  {item.state:<7}  {item.seconds:>7.1f} s  {_end(item)}" for item in shown]
    more = len(outcome.processes) - len(shown)
    return [*(line.rstrip() for line in lines), *([f"    ... and {more} more, in run.json"] if more else [])]


def _end(item: Ended) -> str:
    code = item.exit_code if item.signal is None else -item.signal
    return "" if code is None else exit_words(code)


def result_table(rows: Sequence[Mapping[str, float | int | str]]) -> list[str]:
    """A benchmark's points as aligned lines; columns as its plugin names them, one word of a name below the other."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    heads = [name.split("_") for name in names]
    height = max(len(head) for head in heads)
    head = [[([""] * (height - len(words)) + words)[line] for words in heads] for line in range(height)]
    cells = [[_cell(row.get(name, "-")) for name in names] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(*head, *cells, strict=True)]
    return [" ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in (*head, *cells)]


def _cell(value: float | int | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _summary_line(outcome: Outcome) -> str:
    summary = outcome.summary
    assert summary is not None
    said = f"; {summary.message}" if summary.message else ""
    if not summary.requests and not summary.rows:
        return f"benchmark: nothing was counted{said}"
    cancelled = f", {summary.cancelled} cancelled at the end" if summary.cancelled else ""
    return f"benchmark: {summary.requests} requests, {summary.errors} errors{cancelled}{said}"
