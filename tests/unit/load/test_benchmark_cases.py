"""A benchmark that must not lie, hang or distort: real client, real server, both processes of their own."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

CALIBRATION = 2
"""Requests that come before all others."""


@pytest.mark.parametrize(("gen", "kind"), [("zero", "zero_tokens"), ("cut", "cut"), ("503", "http_503")])
def test_no_tokens_is_never_a_success(engine: Any, make_client: Any, gen: str, kind: str) -> None:
    client = make_client(engine(f"gen={gen}").url)
    done = client.run(concurrencies=(4, 8), requests=8)
    point = client.point()  # the one and only: an invalid point stops the sweep
    assert done.returncode == 1
    assert list(point)[:2] == ["valid", "reason"]
    assert point["valid"] is False
    assert point["reason"].startswith(f"8 of 8 requests failed (8 {kind}), none may fail; {kind}: ")
    assert (point["num_prompts"], point["sent"], point["completed"], point["failed"]) == (8, 8, 0, 8)
    assert (point["cancelled"], point["total_output_tokens"], point["request_log_lines"]) == (0, 0, 8)
    assert point["output_throughput"] == point["request_throughput"] == 0
    assert done.stderr.splitlines() == [
        f"inferlane.load: concurrency 4 is invalid: {point['reason']}",
        "inferlane.load: not run: concurrency 8",
    ]


def test_the_counts_are_told_before_the_verdict(engine: Any, make_client: Any) -> None:
    done = make_client(engine("gen=zero").url).run()
    counts = "concurrency 4: num_prompts 8, sent 8, completed 0, failed 8, cancelled 0, not_sent 0"
    assert counts in done.stdout
    assert done.stdout.index(counts) < done.stdout.index(" NO")


def test_an_invalid_point_goes_on_only_when_told_to(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=cut").url)
    done = client.run(concurrencies=(2, 4), stop_on_invalid=False)
    assert done.returncode == 1
    assert [(point["max_concurrency"], point["valid"]) for point in client.points()] == [(2, False), (4, False)]


def test_half_of_the_tokens_is_no_success_either(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=short").url)
    assert client.run(osl=8).returncode == 1
    assert client.point()["reason"].startswith("answers had 4.0 tokens on average, 8.0 were asked for (50.0%")


def test_one_request_that_hangs_does_not_take_the_run_with_it(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=hang-one", f"hang_at={CALIBRATION + 3}").url)
    began = time.monotonic()
    done = client.run(requests=8, stall_timeout_s=5)
    point = client.point()
    assert time.monotonic() - began < 15
    assert done.returncode == 1
    assert point["reason"] == "stalled: no request ended for 5 s; 7 done, 0 failed, 1 outstanding, 0 not sent"
    assert (point["valid"], point["completed"], point["cancelled"]) == (False, 7, 1)
    assert point["total_output_tokens"] == 7 * 4
    log = (client.folder / "sa-bench_isl_32_osl_4" / point["request_log"]).read_text().splitlines()
    assert sorted(json.loads(line)["status"] for line in log) == ["cancelled"] + ["ok"] * 7


def test_warm_up_keeps_to_the_limit_of_its_level_and_out_of_its_numbers(engine: Any, make_client: Any) -> None:
    server = engine("gen=ok")
    client = make_client(server.url)
    done = client.run(concurrencies=(4, 8), warmup_requests=16, requests=24)
    first, second = client.points()
    arrivals = server.stats()["arrivals"]
    assert done.returncode == 0, done.stderr
    assert len(arrivals) == CALIBRATION + 2 * (16 + 24)
    assert max(arrivals[: CALIBRATION + 16 + 24]) == 4
    assert max(arrivals[CALIBRATION + 16 + 24 :]) == 8
    for point, concurrency in ((first, 4), (second, 8)):
        assert (point["num_prompts"], point["completed"], point["request_log_lines"]) == (24, 24, 24)
        assert (point["warmup"]["requests"], point["warmup"]["concurrency"]) == (16, concurrency)
        assert (point["warmup"]["peak_in_flight"], point["peak_in_flight"]) == (concurrency, concurrency)
        assert point["settings"]["warmup_requests"] == 16


def test_the_default_warm_up_is_never_smaller_than_the_concurrency(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=ok").url)
    client.run(concurrencies=(2, 8), requests=8, num_warmup_mult=1)
    assert [point["warmup"]["completed"] for point in client.points()] == [2, 8]
