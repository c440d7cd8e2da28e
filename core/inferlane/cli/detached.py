"""``--detach``: the run goes on by itself, and the command ends as soon as it has really begun."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from inferlane.cli.documents import print_failure
from inferlane.cli.guarded import run_guarded
from inferlane.errors import EXIT_FAILED, EXIT_OK
from inferlane.running.guardian import heeded
from inferlane.running.terminal.hints import reference

LOG = "run.log"
_BEGIN_S = 30.0
_LOST = b"lost:"

Announce = Callable[[Path], None]


def run_detached(work: Callable[[Announce], int], as_json: bool) -> int:
    """Run ``work`` under a guardian in a session of its own; what it says goes to ``run.log`` of the run folder.

    Faults up to the first process are still shown here, and end the command with their own exit status.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.setsid()
        os._exit(_guardian(work, as_json, writer))
    os.close(writer)
    line = b""
    try:
        with _listening(), os.fdopen(reader, "rb") as announced:
            line = announced.readline().strip()
            if line and not line.startswith(_LOST):
                return _begun(pid, Path(os.fsdecode(line)), as_json)
    except _StoppedError as stopped:  # who stops the command before it has returned means the run
        os.kill(pid, stopped.args[0])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if line.startswith(_LOST):
        verdict, message = line.removeprefix(_LOST).decode(errors="replace").split(":", 1)
        click.echo(f"error: {message}", err=True)
        if as_json:
            print_failure(verdict, code, message)
    elif line:
        return _ended(Path(os.fsdecode(line)), as_json)
    return code


class _StoppedError(BaseException):
    """A signal to the command while it waits for the run to begin."""


@contextlib.contextmanager
def _listening() -> Iterator[None]:
    def leave(number: int, _frame: object) -> None:
        raise _StoppedError(number)

    before = {number: signal.signal(number, leave) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _guardian(work: Callable[[Announce], int], as_json: bool, writer: int) -> int:
    """Its own words would go nowhere: what it has to say before there is a run goes back to the command."""
    left: list[Path] = []

    def lost(verdict: str, _code: int, message: str, folder: Path | None) -> None:
        if folder is None:
            with contextlib.suppress(OSError):  # the command has gone
                os.write(writer, _LOST + f"{verdict}:{message}\n".encode())

    def leaving(announce: Announce) -> int:
        return work(lambda folder: _leave(announce, folder, writer, left))

    return run_guarded(leaving, lambda: as_json and not left, _let_go, lost)


def _let_go() -> None:
    """The guardian holds nothing that the caller's own caller waits for."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _leave(announce: Announce, folder: Path, writer: int, left: list[Path]) -> None:
    """Announce the run folder, then write there instead of to whoever called."""
    announce(folder)
    for out in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            out.flush()
    log = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (0, 1, 2):
        os.dup2(log, stream)
    os.close(log)
    left.append(folder)
    with contextlib.suppress(OSError):  # the command was ended meanwhile; the run goes on
        os.write(writer, os.fsencode(folder) + b"\n")
    os.close(writer)


def _begun(guardian: int, folder: Path, as_json: bool) -> int:
    """Wait until processes are started, or the run was refused. ``guardian``: our child."""
    deadline = time.monotonic() + _BEGIN_S
    verdict, gone = folder / "run.json", False
    while time.monotonic() < deadline and not gone and not verdict.exists():
        with contextlib.suppress(OSError):
            if b"process.start" in (folder / "events.jsonl").read_bytes():
                break
        gone = os.waitid(os.P_PID, guardian, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        time.sleep(0.05)
    if (gone or verdict.exists()) and _recorded(folder)["verdict"] != "success":
        return _ended(folder, as_json)
    if as_json:
        click.echo(json.dumps({"id": folder.name, "folder": str(folder)}, indent=2))
    else:
        name = reference(folder)
        click.echo(f"run {folder.name} goes on by itself; folder {folder}")
        click.echo(f"  inferlane status {name}\n  inferlane logs -f {name}\n  inferlane cancel {name}")
    return EXIT_OK


def _ended(folder: Path, as_json: bool) -> int:
    """It was refused, has failed already or was stopped: say here what it said there."""
    document = _recorded(folder)
    code = int(document["exit_code"])
    message = str((document.get("cause") or {}).get("message") or document["verdict"])
    words = ""
    with contextlib.suppress(OSError):
        words = (folder / LOG).read_text(errors="replace")
    click.echo(words or f"error: {message}\n", err=True, nl=False)
    if as_json:
        print_failure(str(document["verdict"]), code, message, id=folder.name, folder=str(folder))
    return code


def _recorded(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        document: dict[str, Any] = json.loads((folder / "run.json").read_bytes())
        return document
    cause = {"message": "its guardian is gone and left no verdict"}
    return {"verdict": "failed", "exit_code": EXIT_FAILED, "cause": cause}
