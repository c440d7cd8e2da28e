"""Who served, and what counts as a completion."""

from __future__ import annotations

import pytest

from inferlane.running.readiness.canary import no_completion
from inferlane.running.readiness.counters import grown, read_counter
from inferlane.values import Counter, Reply

TEXT = """# HELP n_total requests
# TYPE n_total counter
n_total{rank="0",model="a b{c}"} 3
n_total{rank="1",model="x"} 1e0
n_total{rank="1",model="y"} 2
n_total_created{rank="1"} 99
n_total{rank="2"} NotANumber
"""


def test_rows_are_summed_by_rank() -> None:
    assert read_counter(TEXT, Counter(series="n_total", rank_label="rank")) == {"0": 3, "1": 3}


def test_without_a_rank_label_all_rows_are_one() -> None:
    assert read_counter(TEXT, Counter(series="n_total")) == {"": 6}


def test_only_what_has_grown_has_served_and_a_new_row_counts() -> None:
    assert grown({"0": 3, "1": 3}, {"0": 3, "1": 4, "2": 1}) == {"1", "2"}


@pytest.mark.parametrize(
    "body",
    [
        '{"choices": [{"text": "x"}], "usage": {"completion_tokens": 1}}',
        '{"choices": [{"text": "", "finish_reason": "length"}], "usage": {"completion_tokens": 2}}',
        '{"choices": [{"message": {"content": "hi"}}]}',
        '{"choices": [{"message": {"content": null, "reasoning_content": "hm"}}]}',
    ],
)
def test_at_least_one_token_is_a_completion(body: str) -> None:
    assert no_completion(Reply(status=200, body=body)) == ""


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(status=503, body="no\nworkers"), "HTTP 503 no workers"),
        (Reply(body="connection refused"), "connection refused"),
        (Reply(status=200, body="<html>"), "HTTP 200, but not a completion"),
        (Reply(status=200, body="[]"), "HTTP 200, but not a completion"),
        (Reply(status=200, body='{"choices": []}'), "HTTP 200, but not a completion"),
        (
            Reply(status=200, body='{"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}'),
            "HTTP 200, but a completion of no tokens",
        ),
    ],
)
def test_anything_else_is_not_and_says_why(reply: Reply, why: str) -> None:
    assert no_completion(reply) == why
