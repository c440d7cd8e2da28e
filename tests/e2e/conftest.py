"""Running hand-made plans as a user would: a guardian process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from inferlane.planning import encode
from inferlane.running import proc
from inferlane.running.events import read_events
from inferlane.values import Plan


@dataclass
class Running:
    """A run in a process of its own."""

    popen: subprocess.Popen[str]
    outputs: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def folder(self) -> Path:
        (found,) = self.outputs.iterdir()
        return found

    def events(self) -> list[dict[str, Any]]:
        return list(read_events(self.folder / "events.jsonl")) if list(self.outputs.glob("*")) else []

    def wait_for(self, event: str, seconds: float = 10, **fields: str) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for item in self.events():
                if item["event"] == event and all(item.get(name) == value for name, value in fields.items()):
                    return item
            assert self.popen.poll() is None, self.popen.communicate()
            time.sleep(0.02)
        raise AssertionError(f"no {event} within {seconds} s; there are {self.events()}")

    def supervisor(self) -> int:
        (child,) = proc.children_of_all()[self.popen.pid]
        return child

    def end(self, seconds: float = 20) -> tuple[int, str]:
        out, _ = self.popen.communicate(timeout=seconds)
        return self.popen.returncode, out

    def verdict(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "run.json").read_bytes())
        return document


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a plan under a guardian; what a failed test leaves is told to end."""
    started: list[Running] = []

    def begin(plan: Plan, grace: float = 5, env: dict[str, str] | None = None) -> Running:
        number = len(started)
        file, outputs = tmp_path / f"plan-{number}.json", tmp_path / f"out-{number}"
        file.write_bytes(encode(plan))
        outputs.mkdir()
        argv = [sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(outputs), str(grace)]
        popen = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})}
        )
        started.append(Running(popen, outputs))
        return started[-1]

    yield begin
    for run in started:
        if run.popen.poll() is None:
            run.popen.send_signal(signal.SIGTERM)
            run.popen.communicate(timeout=30)
