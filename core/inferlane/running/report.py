"""What a user sees while a run goes on, and at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from inferlane.running.board import Row, table
from inferlane.running.outcome import Outcome
from inferlane.running.secrets import Redactor
from inferlane.running.served import served_lines
from inferlane.running.tails import printable

_ROWS_SHOWN = 24


class Reporter:
    """Plain lines on ``out``. With ``as_json`` stdout gets the verdict's JSON and nothing else; lines go to stderr."""

    live = False

    def __init__(self, as_json: bool = False, out: TextIO | None = None) -> None:
        self._as_json = as_json
        self._out = out or (sys.stderr if as_json else sys.stdout)
        self._start = time.monotonic()
        self.redactor = Redactor()

    def line(self, text: str) -> None:
        """One line of progress."""
        self._write(f"[{time.monotonic() - self._start:7.1f} s] {text}")

    def table(self, rows: tuple[Row, ...]) -> None:
        """Every process, at each minute and at a timeout."""
        for text in table(rows):
            self._write(f"    {text}")

    def progress(self, rows: Callable[[], tuple[Row, ...]]) -> None:
        """Refresh what moves; nothing where nothing can move."""

    def close(self) -> None:
        """Stop moving."""

    def final(self, outcome: Outcome, folder: str) -> None:
        """The verdict."""
        self.close()
        for text in final_lines(outcome, folder):
            self._write(text)
        if self._as_json:
            content = msgspec.json.format(msgspec.json.encode(outcome), indent=2)
            sys.stdout.write(self.redactor.content(content).decode() + "\n")
            sys.stdout.flush()

    def _write(self, text: str) -> None:
        try:
            self._out.write(printable(self.redactor.text(text)) + "\n")
            self._out.flush()
        except (OSError, ValueError):  # the reader of our output has gone; the run has not
            return


class LiveReporter(Reporter):
    """A terminal: lines as before, and below them a table that is refreshed in place. No thread."""

    live = True

    def __init__(self, out: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(out=out)
        self._console = Console(file=out, highlight=False, markup=False)
        self._live: Any = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()
        self._refreshed = 0.0

    def progress(self, rows: Callable[[], tuple[Row, ...]]) -> None:
        if time.monotonic() - self._refreshed < 1.0:
            return
        from rich.text import Text

        self._refreshed = time.monotonic()
        everything = rows()
        shown = sorted(everything, key=lambda row: row.state == "ready")[:_ROWS_SHOWN]
        lines = [printable(self.redactor.text(text)) for text in table(tuple(shown), self._console.width - 1)]
        if len(everything) > len(shown):
            lines.append(f"… and {len(everything) - len(shown)} more")
        self._live.update(Text("\n".join(lines)), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _write(self, text: str) -> None:
        try:
            self._console.print(printable(self.redactor.text(text)), soft_wrap=True)
        except (OSError, ValueError):
            return


def reporter(as_json: bool, live: bool = True) -> Reporter:
    """The right one for where stdout goes."""
    return LiveReporter(sys.stdout) if live and not as_json and sys.stdout.isatty() else Reporter(as_json)


def counted(number: int, one: str, many: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {one if number == 1 else many}"


def final_lines(outcome: Outcome, folder: str) -> list[str]:
    """The end of a run, for a person: first cause, tail of its log, what followed, whether all is gone."""
    lines: list[str] = []
    if outcome.cause is not None:
        lines.append(f"first cause: {outcome.cause.message}")
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
    cancelled = f", {summary.cancelled} cancelled at the end" if summary.cancelled else ""
    return f"benchmark: {summary.requests} requests, {summary.errors} errors{cancelled}{said}"
