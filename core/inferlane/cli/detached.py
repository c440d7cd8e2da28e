"""``--detach``: the run goes on by itself, and the command ends as soon as it has really begun."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.guarded import run_guarded
from inferlane.errors import EXIT_OK

LOG = "run.log"
_BEGIN_S = 30.0

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
        os._exit(run_guarded(lambda announce: work(_leaving(announce, writer)), as_json, lambda: _let_go(writer)))
    os.close(writer)
    with os.fdopen(reader, "rb") as announced:
        folder = announced.readline().decode().strip()
    if not folder:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return _begun(Path(folder), as_json)


def _let_go(writer: int) -> None:
    """The guardian says nothing, and holds nothing that the caller waits for."""
    os.close(writer)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _leaving(announce: Announce, writer: int) -> Announce:
    """Announce the run folder, then write there instead of to whoever called."""

    def leave(folder: Path) -> None:
        announce(folder)
        sys.stdout.flush()
        sys.stderr.flush()
        log = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (0, 1, 2):
            os.dup2(log, stream)
        os.close(log)
        os.write(writer, os.fsencode(folder) + b"\n")
        os.close(writer)

    return leave


def _begun(folder: Path, as_json: bool) -> int:
    """Wait until processes are started, or the run was refused."""
    deadline = time.monotonic() + _BEGIN_S
    verdict = folder / "run.json"
    while time.monotonic() < deadline and not verdict.exists():
        with contextlib.suppress(OSError):
            if b"process.start" in (folder / "events.jsonl").read_bytes():
                break
        time.sleep(0.05)
    if verdict.exists() and json.loads(verdict.read_text())["verdict"] != "success":
        click.echo((folder / LOG).read_text(errors="replace"), err=True, nl=False)
        return int(json.loads(verdict.read_text())["exit_code"])
    if as_json:
        click.echo(json.dumps({"id": folder.name, "folder": str(folder)}, indent=2))
    else:
        name = folder.name
        click.echo(f"run {name} goes on by itself; folder {folder}")
        click.echo(f"  inferlane status {name}\n  inferlane logs -f {name}\n  inferlane cancel {name}")
    return EXIT_OK
