"""Who served, by the engines' own counters, against what the client says."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from inferlane.running import local
from inferlane.running.leftovers.sweep import Swept
from inferlane.running.local import run_plan
from inferlane.running.processes.signals import STOPPING
from inferlane.running.readiness.served import Served
from inferlane.running.settings import Hooks, RunOptions
from inferlane.testing.handmade import served, shell, upstream
from inferlane.values import Summary


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The run's handlers are gone after the test; what pytest itself started is not the run's to end."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    monkeypatch.setattr(local, "last_look", lambda *_: Swept())
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_worker_that_no_longer_answers_at_the_end_is_named() -> None:
    book = Served(served())
    book._before = {"worker-0": {"": 3.0}, "worker-1": {"0": 3.0, "1": 4.0}, "worker-2": {"": 1.0}}
    assert book.silent({"worker-0": 5, "worker-1@0": 7}) == ["worker-2"]


@pytest.mark.parametrize(
    ("counted", "completed", "least", "who"),
    [
        ({"prefill-0": 80, "decode-0": 50, "decode-1": 30}, 80, 80, ""),
        ({"prefill-0": 84, "decode-0": 50, "decode-1": 36}, 80, 80, ""),
        ({"prefill-0": 80, "decode-0": 50, "decode-1": 0}, 80, 50, "decode"),
        ({"prefill-0": 0, "decode-0@0": 0, "decode-0@1": 0, "decode-1": 0}, 80, 0, "prefill"),
        ({"prefill-0": 80, "decode-0": 10}, 80, 80, ""),
        ({}, 80, 80, ""),
    ],
)
def test_a_client_that_counts_more_than_the_engines_is_contradicted(
    counted: dict[str, int], completed: int, least: int, who: str
) -> None:
    """Only where every worker of a role tells."""
    roles = {"prefill-0": "prefill", "decode-0": "decode", "decode-1": "decode"}
    told = tuple(replace(upstream(name), role=role) for name, role in roles.items())
    book = Served(served(upstreams=told))
    book._before = {name: {"": 0.0} for name in roles}
    number, said = book.shortfall(counted, completed)
    assert number == least
    assert said == (
        f"the benchmark counts {completed} completions, and the {who} workers' own counters {least}" if who else ""
    )


@pytest.mark.e2e
def test_completions_that_no_worker_has_counted_are_no_success(
    tmp_path: Path, in_process: None, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(outputs=tmp_path, environ={"PATH": "/usr/bin:/bin"}, live=False)
    made = served(shell("bench", "true", kind="benchmark"))
    hooks = Hooks(summarise=lambda outputs: Summary(ok=True, requests=5))
    assert run_plan(made, options, hooks) == 1
    (run,) = tmp_path.iterdir()
    verdict: dict[str, Any] = msgspec.json.decode((run / "run.json").read_bytes())
    assert "the benchmark counts 5 completions, and the agg workers' own counters 0" in verdict["cause"]["message"]
    assert verdict["summary"]["requests"] == 5
    assert "something else has answered" in capsys.readouterr().out
