"""What a person is told at the end."""

from __future__ import annotations

from typing import Any

from inferlane.running.outcome import Cause, Ended, Outcome, exit_words
from inferlane.running.terminal.board import Row, table
from inferlane.running.terminal.report import final_lines
from inferlane.values import Summary


def _lines(**fields: Any) -> str:
    defaults: dict[str, Any] = {"id": "r", "name": "r", "verdict": "failed", "exit_code": 1, "started": "", "ended": ""}
    return "\n".join(final_lines(Outcome(**{"clean": True, **defaults, **fields}), "/runs/r"))


def test_the_first_cause_comes_with_the_end_of_its_log() -> None:
    cause = Cause(kind="exit", message="decode-0 ended", log="/runs/r/logs/decode-0.log", log_tail=("bad flag",))
    text = _lines(cause=cause, followers=("prefill-0 (exit code 1)",))
    assert "first cause: decode-0 ended\n  last lines of /runs/r/logs/decode-0.log:\n    bad flag" in text
    assert "ended after it: prefill-0 (exit code 1)" in text


def test_what_is_still_there_is_never_called_clean() -> None:
    text = _lines(clean=False, left=("77 sleep 300",))
    assert "not clean, still there: 77 sleep 300" in text
    assert "NOT everything is gone" in text


def test_a_process_that_was_killed_is_named() -> None:
    assert "killed after the grace: agg-0" in _lines(processes=(Ended(process="agg-0", state="killed", signal=9),))


def test_cancelled_requests_are_told_apart_from_errors() -> None:
    summary = Summary(ok=True, requests=795, errors=0, cancelled=12)
    assert "benchmark: 795 requests, 0 errors, 12 cancelled at the end" in _lines(summary=summary)


def test_a_signal_has_its_name() -> None:
    assert (exit_words(3), exit_words(-9), exit_words(-99)) == ("exit code 3", "signal 9 (SIGKILL)", "signal 99")


def test_the_table_has_state_seconds_answer_and_last_line() -> None:
    rows = (Row("decode-0", "running", 61.2, "HTTP 503", "loading"), Row("p", "waiting", 0, "", ""))
    assert table(rows) == ["decode-0  running      61 s  HTTP 503 | loading", "p         waiting       0 s"]


def test_what_became_of_each_process_is_told_the_culprit_first_where_not_all_fit() -> None:
    ended = [Ended(process=f"w-{number}", state="stopped", exit_code=0, seconds=3) for number in range(40)]
    culprit = Ended(process="decode-0", state="ended", exit_code=7, seconds=61.25)
    cause = Cause(kind="exit", process="decode-0", message="decode-0 ended", log="/runs/r/logs/decode-0.log")
    lines = _lines(processes=(*ended, culprit), cause=cause).splitlines()
    assert lines[0] == "    decode-0  ended       61.2 s  exit code 7"
    assert lines[24] == "    ... and 17 more, in run.json"
    assert "  its log is empty: /runs/r/logs/decode-0.log" in lines
