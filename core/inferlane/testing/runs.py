"""Runs of hand-made plans as a user would have them: under a guardian, in a process of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferlane.planning import encode
from inferlane.running.folder.events import read_events
from inferlane.running.leftovers.sweep import OWNER_FILE
from inferlane.running.processes import proc
from inferlane.values import Plan


@dataclass
class Running:
    """A run in a process of its own. ``mark``: the TMPDIR that everything it starts inherits."""

    popen: subprocess.Popen[str]
    outputs: Path
    mark: Path
    started: float = field(default_factory=time.monotonic)
    killed: set[str] = field(default_factory=set)
    orphans: list[int] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder of the run. Raises ``ValueError`` while there is none."""
        (found,) = self.outputs.iterdir()
        return found

    def has_owner(self) -> bool:
        """Whether the run exists: its folder says whose it is."""
        return any(self.outputs.glob(f"*/{OWNER_FILE}"))

    def events(self) -> list[dict[str, Any]]:
        """What it has recorded so far."""
        return list(read_events(self.folder / "events.jsonl")) if list(self.outputs.glob("*")) else []

    def has(self, event: str, **fields: object) -> dict[str, Any] | None:
        """The first event of that name with these fields."""
        for item in self.events():
            if item["event"] == event and all(item.get(name) == value for name, value in fields.items()):
                return item
        return None

    def wait_for(self, event: str, seconds: float = 20, **fields: object) -> Any:
        """The event, once it is there; fails if the run ends before."""
        return self.until(lambda: self.has(event, **fields), f"{event} {fields or ''}", seconds)

    def until(self, found: Callable[[], Any], what: str, seconds: float = 20) -> Any:
        """What ``found`` answers as soon as that is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            over = self.popen.poll() is not None
            if answer := found():
                return answer
            assert not over, (what, self.popen.communicate())
            time.sleep(0.02)
        raise AssertionError(f"no {what} within {seconds} s; there are {self.events()}")

    def log(self, process: str) -> str:
        """What a process wrote so far."""
        return "".join(path.read_text(errors="replace") for path in self.outputs.glob(f"*/logs/{process}.log"))

    def pid(self, process: str) -> int:
        """The number of a process that was started."""
        return int(self.wait_for("process.start", process=process)["pid"])

    def supervisor(self) -> int:
        """The guardian's child."""
        (child,) = proc.children_of_all()[self.popen.pid]
        return child

    def end(self, seconds: float = 20) -> tuple[int, str]:
        """Its exit code and all that it wrote, once it ended."""
        out, _ = self.popen.communicate(timeout=seconds)
        for pid in self.orphans:  # a supervisor without its guardian: it has closed its output, and is about to be gone
            deadline = time.monotonic() + 5
            while proc.start_time(pid) is not None and time.monotonic() < deadline:
                time.sleep(0.01)
        return self.popen.returncode, out

    def cut(self) -> tuple[bool, bool]:
        """Whether :meth:`kill` hit its supervisor, so that the events may stop anywhere; whether it hit both, so that
        there is no verdict.
        """
        return "supervisor" in self.killed, {"supervisor", "guardian"} <= self.killed

    def kill(self, *whom: str) -> bool:
        """SIGKILL to ``guardian``, ``supervisor`` or, at one moment, both; ``False``: there is a verdict already, and
        they were let go on.
        """
        pids = {"guardian": self.popen.pid, "supervisor": self.supervisor()}
        for name in whom:
            os.kill(pids[name], signal.SIGSTOP)  # so that neither sees the other die
        self.until(lambda: all(_still(pids[one]) for one in whom), "stop")
        over = any(self.outputs.glob("*/run.json"))
        for name in whom:
            os.kill(pids[name], signal.SIGCONT if over else signal.SIGKILL)
        self.killed |= set() if over else set(whom)
        self.orphans.append(pids["supervisor"])
        return not over

    def verdict(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        document: dict[str, Any] = json.loads((self.folder / "run.json").read_bytes())
        return document


def begin(plan: Plan, room: Path, grace: float = 5, env: Mapping[str, str] | None = None) -> Running:
    """Start a plan; ``room``: a new or empty folder for the plan, the outputs and the temporary files."""
    outputs, mark = room / "out", room / "tmp"
    for folder in (outputs, mark):
        folder.mkdir(parents=True)
    file = room / "plan.json"
    file.write_bytes(encode(plan))
    argv = [sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(outputs), str(grace)]
    environ = {**os.environ, "TMPDIR": str(mark), **(env or {})}
    popen = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ)
    return Running(popen, outputs, mark)


def _still(pid: int) -> bool:
    found = proc.stat(pid)
    return found is None or found.state in "TZX"
