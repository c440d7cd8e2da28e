"""Runs as text and as plain data, for whoever asks from another terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.states import ProcessState, State
from inferlane.running.logs.tails import last_line, printable
from inferlane.running.outcome import exit_words
from inferlane.running.readiness.served import served_lines
from inferlane.running.terminal.hints import attach_lines
from inferlane.running.terminal.report import result_table
from inferlane.values import Summary

_CAUSE = 100


def as_data(run: RunDirectory, state: State) -> dict[str, Any]:
    """One run of a list. Keys never go away; what is not known is null."""
    document = state.document or {}
    return {
        "id": run.id,
        "folder": str(run.path),
        "state": state.word,
        "held": list(state.held),
        "ready": state.ready,
        "started": state.started,
        "ended": state.ended,
        "seconds": state.seconds,
        "exit_code": document.get("exit_code"),
        "endpoint": state.endpoint,
        "cause": _cause(state) or None,
    }


def in_full(run: RunDirectory, state: State) -> dict[str, Any]:
    """One run with its processes and its verdict."""
    processes = {
        name: {**asdict(item), "log": str(run.log(name)), "last_line": last_line(run.log(name))}
        for name, item in state.processes.items()
    }
    return {**as_data(run, state), "processes": processes, "verdict": state.document}


def list_lines(found: Sequence[tuple[RunDirectory, State]], width: int | None) -> list[str]:
    """Runs as an aligned table, at most ``width`` columns wide."""
    rows = [("RUN", "STATE", "STARTED (UTC)", "TOOK", "EXIT", "ENDPOINT OR FIRST CAUSE")]
    for run, state in found:
        code = (state.document or {}).get("exit_code")
        what = _cause(state)[:_CAUSE] if state.document is not None else state.endpoint or ""
        rows.append(
            (run.id, state.label, when(state.started), took(state.seconds), "-" if code is None else str(code), what)
        )
    return [line if width is None else line[:width] for line in aligned(rows)]


def lines_of(run: RunDirectory, state: State, job: str | None = None) -> list[str]:
    """Everything that is known of one run. ``job``: what the scheduler says, of a run that is one."""
    lines = [f"run:       {run.id}", f"state:     {_state(state)}"]
    lines += [f"job:       {job}"] if job is not None else []
    lines += [f"started:   {when(state.started)} UTC; {took(state.seconds)}", f"folder:    {run.path}"]
    if state.endpoint and state.document is None:
        lines.append(f"endpoint:  {state.endpoint}")
    if state.processes:
        rows: list[tuple[str, ...]] = [("PROCESS", "STATE", "SECONDS", "EXIT", "LOG", "LAST LINE")]
        rows += [_process(run, name, item) for name, item in state.processes.items()]
        lines += ["", *aligned(rows)]
    if state.document is None:
        lines += ["", *(attach_lines(run.path, state.endpoint if state.ready else None, state.model))]
    else:
        lines += _ending(state.document)
    return [printable(line) for line in lines]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns, all but the last padded."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def when(text: str | None) -> str:
    """``2026-01-02 03:04:05``."""
    return "-" if not text else text[:19].replace("T", " ")


def took(seconds: float | None) -> str:
    """``63 s``, ``12m03s``, ``5h02m``."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, left = divmod(minutes, 60)
    return f"{hours}h{left:02}m" if hours else f"{minutes}m{rest:02}s"


def _state(state: State) -> str:
    if state.document is not None:
        clean = "everything is gone" if state.document.get("clean") else f"still there: {state.document.get('left')}"
        return f"{state.label} (exit {state.document.get('exit_code')}); {clean}"
    held = f"; held: {' and '.join(state.held)}; `inferlane cancel` ends it" if state.held else ""
    why = {"lost": "; it was killed and left no verdict", "unknown": "; it was started on another machine"}
    return f"{state.label}{', ready' if state.ready else ''}{held}{why.get(state.word, '')}"


def _process(run: RunDirectory, name: str, item: ProcessState) -> tuple[str, ...]:
    seconds = "-" if item.seconds is None else f"{item.seconds:.0f}"
    code = item.exit_code if item.signal is None else -item.signal
    shown = "-" if code is None else exit_words(code).removeprefix("exit code ")
    return name, item.state, seconds, shown, f"logs/{run.log(name).name}", last_line(run.log(name))


def _cause(state: State) -> str:
    cause = (state.document or {}).get("cause")
    return printable(" ".join(str(cause.get("message")).split())) if isinstance(cause, dict) else ""


def _ending(document: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    cause = document.get("cause")
    if isinstance(cause, dict):
        lines += ["", f"first cause: {cause.get('message')}"]
        if cause.get("log_tail"):
            lines.append(f"  last lines of {cause.get('log')}:")
            lines += [f"    {line}" for line in cause["log_tail"]]
    if document.get("followers"):
        lines.append(f"ended after it: {'; '.join(map(str, document['followers']))}")
    try:
        summary = msgspec.convert(document.get("summary"), Summary | None)
        served = msgspec.convert(document.get("served") or {}, dict[str, int])
    except msgspec.ValidationError:  # of another version; run.json holds it
        return lines
    if summary is not None and (summary.rows or summary.requests):
        lines += ["", *result_table(summary.rows)] if summary.rows else [""]
        lines.append(f"benchmark: {summary.requests} requests, {summary.errors} errors")
    return [*lines, *served_lines(served)]
