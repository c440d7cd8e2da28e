"""Each cross-check holds for a level that agrees with itself, and names the numbers of one that does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from inferlane.load import crosscheck
from inferlane.load.client import Outcome
from inferlane.load.crosscheck import Facts, clock_trouble, counts, durations, tokens
from inferlane.load.prompts import Ask
from inferlane.load.tally import Tally

GOOD = Facts(
    asked=40,
    finished=True,
    sent=40,
    completed=38,
    failed=2,
    cancelled=0,
    logged=40,
    concurrency=4,
    peak=4,
    counted=38,
    tokens_asked=380,
    tokens=380,
    seconds=10.0,
    request_s=39.9,
    last_end_s=9.99,
    backwards=0,
)


def but(**changes: Any) -> Facts:
    return msgspec.structs.replace(GOOD, **changes)


def test_a_level_that_agrees_with_itself_has_no_fault() -> None:
    assert crosscheck.faults(GOOD, 0.9) == []


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (but(asked=41), "41 requests were asked for and 40 sent"),
        (but(asked=39), "39 requests were asked for and 40 sent"),
        (but(asked=39, finished=False), "39 requests were asked for and 40 sent"),
        (but(completed=37), "40 requests were sent and 39 are accounted for (37 done + 2 failed + 0 cancelled)"),
        (but(failed=3), "40 requests were sent and 41 are accounted for (38 done + 3 failed + 0 cancelled)"),
        (but(logged=39), "the request log has 39 lines for 40 requests"),
        (but(logged=41), "the request log has 41 lines for 40 requests"),
        (but(completed=37, cancelled=1), "the level ended by itself with 1 requests cut off"),
        (but(peak=5), "5 requests were in flight at once, 4 are allowed"),
    ],
)
def test_counts_that_differ_are_named_with_both_numbers(facts: Facts, said: str) -> None:
    assert counts(facts) == [said]


@pytest.mark.parametrize(
    "facts",
    [
        but(asked=60, finished=False),  # cut short
        but(asked=None, finished=False, completed=36, cancelled=2),  # timed
    ],
)
def test_a_level_that_ended_early_owes_no_requests(facts: Facts) -> None:
    assert counts(facts) == []


def test_answers_below_the_share_are_a_fault_with_the_numbers() -> None:
    assert tokens(but(tokens=342), 0.9) == []
    assert tokens(but(tokens=341), 0.9) == [
        "answers had 9.0 tokens on average, 10.0 were asked for (89.7%, and min_output_share wants 90%)"
    ]


def test_a_share_of_zero_accepts_any_length() -> None:
    assert tokens(but(tokens=1), 0) == []


def test_answers_that_nobody_counted_prove_nothing_about_their_length() -> None:
    assert tokens(but(counted=0, tokens_asked=0, tokens=0), 0.9) == []


def test_requests_that_took_longer_than_the_level_has_room_for_are_a_fault() -> None:
    assert durations(but(request_s=40.3)) == []
    assert durations(but(request_s=41.0)) == [
        "the requests took 41.000 s together, and 4 in flight for 10.000 s are at most 40.000 s"
    ]


def test_a_first_token_after_the_last_is_a_fault() -> None:
    assert durations(but(backwards=2)) == ["the first token of 2 requests came after their last"]


def test_a_request_that_ended_after_its_level_is_a_fault() -> None:
    assert durations(but(last_end_s=10.1)) == []
    assert durations(but(last_end_s=10.5)) == ["a request ended after 10.500 s of a level that took 10.000 s"]


@pytest.mark.parametrize(("off", "seconds"), [(0.0, 1.0), (0.99, 1.0), (-0.99, 1.0), (9.9, 1000.0), (-9.9, 1000.0)])
def test_a_small_drift_of_the_clock_is_no_trouble(off: float, seconds: float) -> None:
    assert clock_trouble(off, seconds, "the level") == ""


@pytest.mark.parametrize(("off", "way"), [(3600.0, "forward by 3600.000 s"), (-11.0, "back by 11.000 s")])
def test_a_clock_that_jumps_is_told_with_size_and_sign(off: float, way: str) -> None:
    assert f"the wall clock went {way}" in clock_trouble(off, 1000.0, "the level")


def test_a_tally_keeps_what_the_checks_need() -> None:
    tally = Tally()
    tally.add(Ask(0, "p", 8, 10), Outcome(output_tokens=10, ttft_us=2_000_000, e2e_us=3_000_000), 1.0)
    tally.add(Ask(1, "p", 8, 10), Outcome(output_tokens=5, ttft_us=500_000, e2e_us=400_000), 3.0)
    tally.add(Ask(2, "p", 8, 10), Outcome(output_tokens=7, estimated=True, ttft_us=1, e2e_us=600_000), 0.0)
    tally.add(Ask(3, "p", 8, 10), Outcome(kind="cut", e2e_us=9_000_000), 9.0)
    assert (tally.counted_asked, tally.counted_out) == (20, 15)
    assert tally.request_s == pytest.approx(4.0)
    assert tally.last_end_s == pytest.approx(4.0)
    assert tally.backwards == 1
