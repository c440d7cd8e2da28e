"""From what a probe saw to a verdict that names what is missing."""

from __future__ import annotations

import json

import pytest

from inferlane.running.readiness.judge import judge_http, judge_plugin, judge_tcp
from inferlane.values import HttpCheck, PluginCheck, Reply, Rows, Verdict

URL = "http://127.64.0.1:8000/workers"
NAMES = ("http://a:1", "http://b:1")
WORKERS = HttpCheck(
    url=URL, rows=Rows(path="stats.workers", where={"is_healthy": (True,)}, field="url", values=NAMES, at_least=2)
)


def _workers(*rows: dict[str, object]) -> Reply:
    return Reply(status=200, body=json.dumps({"stats": {"workers": rows}}))


def test_the_worker_that_is_missing_is_named() -> None:
    verdict = judge_http(
        WORKERS, _workers({"url": NAMES[0], "is_healthy": True}, {"url": NAMES[1], "is_healthy": False})
    )
    assert verdict.missing == ("http://b:1",)
    assert verdict.message == f"{URL}: missing http://b:1"


def test_all_names_there_is_ready() -> None:
    assert judge_http(WORKERS, _workers(*({"url": name, "is_healthy": True} for name in NAMES))).ready


def test_rows_without_names_are_counted() -> None:
    check = HttpCheck(url=URL, rows=Rows(at_least=3))
    verdict = judge_http(check, Reply(status=200, body='[{"a": 1}, {"a": 2}]'))
    assert verdict.message == f"{URL}: 2 of 3"


@pytest.mark.parametrize("body", ["", "<html>", "null", "3", '{"stats": 4}', '{"stats": {"workers": ["x", null]}}'])
def test_an_odd_body_is_not_ready_and_raises_nothing(body: str) -> None:
    assert not judge_http(WORKERS, Reply(status=200, body=body)).ready


def test_the_status_is_shown_and_silence_is_too() -> None:
    assert judge_http(WORKERS, Reply(status=503)).message == f"{URL}: HTTP 503"
    assert judge_http(WORKERS, Reply(body="connection refused")).message == f"{URL}: no answer (connection refused)"


def test_a_refusal_of_who_asks_gives_up_and_others_do_not() -> None:
    assert judge_http(WORKERS, Reply(status=401)).give_up
    assert not judge_http(WORKERS, Reply(status=404)).give_up


def test_the_text_must_match() -> None:
    check = HttpCheck(url=URL, text=r"^ready \d+$")
    assert judge_http(check, Reply(status=200, body="ready 7")).ready
    assert not judge_http(check, Reply(status=200, body="not ready")).ready


def test_a_connection_is_accepted_or_not() -> None:
    assert judge_tcp("h:1", Reply(status=200)).ready
    assert judge_tcp("h:1", Reply(body="connection refused")).message == "h:1: connection refused"


def test_a_plugin_that_raises_is_not_ready_with_its_reason() -> None:
    def broken(check: PluginCheck, reply: Reply) -> Verdict:
        raise LookupError("no such row")

    verdict = judge_plugin(PluginCheck(url=URL, name="pairs"), Reply(status=200), broken)
    assert not verdict.ready
    assert "no such row" in verdict.message
