"""What looks at the records of runs sees what is wrong with them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.records import record_faults

GOOD: list[dict[str, Any]] = [
    {"event": "run.start"},
    {"event": "process.start", "process": "w", "phase": "workers"},
    {"event": "process.state", "process": "w", "state": "ready", "was": "starting"},
    {"event": "gate.open", "gate": "w is healthy"},
    {"event": "run.ready"},
    {"event": "process.start", "process": "bench", "phase": "traffic"},
    {"event": "process.end", "process": "bench"},
    {"event": "teardown.start"},
    {"event": "process.end", "process": "w"},
    {"event": "run.end", "verdict": "success", "exit_code": 0, "clean": True},
]
VERDICT = {"verdict": "success", "exit_code": 0, "clean": True, "cause": None, "left": []}
VERDICT["processes"] = [{"process": "w"}, {"process": "bench"}]


def _folder(path: Path, events: list[dict[str, Any]]) -> Path:
    folder = path / "run"
    folder.mkdir(mode=0o700)
    lines = [json.dumps({"t": number, **event}) for number, event in enumerate(events)]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "plan.json").write_text(json.dumps({"gates": [{"name": "w is healthy", "before": "traffic"}]}))
    (folder / "run.json").write_text(json.dumps(VERDICT))
    return folder


def test_a_whole_record_has_no_faults(tmp_path: Path) -> None:
    assert record_faults(_folder(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (0, "the first event is process.start"),
        (1, "w went from None"),
        (3, "closed: ['w is healthy']"),
        (4, "bench was started in traffic too early"),
        (6, "no end of bench"),
        (8, "no end of w"),
        (9, "the last event is"),
    ],
)
def test_an_event_that_is_missing_is_noticed(tmp_path: Path, missing: int, said: str) -> None:
    faults = record_faults(_folder(tmp_path, [event for at, event in enumerate(GOOD) if at != missing]))
    assert any(said in fault for fault in faults), faults


def test_a_start_in_the_teardown_and_a_second_end_are_noticed(tmp_path: Path) -> None:
    late = {"event": "process.start", "process": "late", "phase": "traffic"}
    faults = record_faults(_folder(tmp_path, [*GOOD[:9], late, GOOD[8], GOOD[9]]))
    assert "a process was started in the teardown" in faults
    assert "w ended, having been ended" in faults


def test_a_file_after_the_verdict_and_a_draft_are_noticed(tmp_path: Path) -> None:
    folder = _folder(tmp_path, GOOD)
    (folder / ".run.json.17").touch()
    (folder / "late.log").touch()
    os.utime(folder / "run.json", (1, 1))
    faults = record_faults(folder)
    assert ".run.json.17 is left" in faults
    assert "late.log was written after the verdict" in faults


def test_a_verdict_that_differs_from_the_last_event_is_noticed(tmp_path: Path) -> None:
    faults = record_faults(_folder(tmp_path, [*GOOD[:9], {**GOOD[9], "verdict": "failed"}]))
    assert faults == ["verdict: the last event says failed, the verdict success"]
