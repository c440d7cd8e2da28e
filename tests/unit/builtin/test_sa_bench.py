"""The sa-bench plugin, through its hooks."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from inferlane.load.spec import Gpus, LoadSpec

SHAPE = {"isl": 1024, "osl": 128, "concurrencies": "4x8"}


@pytest.fixture
def bench(load_bench: Any) -> Any:
    return load_bench("inferlane.builtin.sa_bench")


def told(command: Any) -> LoadSpec:
    (file,) = command.files
    return msgspec.json.decode(file.text, type=LoadSpec)


@pytest.mark.parametrize(
    ("written", "levels"),
    [("4x8", (4, 8)), ("4", (4,)), (4, (4,)), ([256, 512], (256, 512)), (["1", 2], (1, 2)), ("16X32", (16, 32))],
)
def test_concurrencies_may_be_written_in_many_ways(bench: Any, written: Any, levels: tuple[int, ...]) -> None:
    assert bench.parse(**SHAPE | {"concurrencies": written}).concurrencies == levels


@pytest.mark.parametrize("written", ["{concurrency}", "4x", "", [], 0, "-4", True, 4.5, [[1, 2]], None, "4x4"])
def test_other_concurrencies_are_refused_at_their_path(bench: Any, written: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        bench.parse(**SHAPE | {"concurrencies": written})
    assert [error["loc"] for error in refused.value.errors()] == [("concurrencies",)]


@pytest.mark.parametrize(("written", "rate"), [("inf", None), (math.inf, None), ("250", 250.0), (2, 2.0)])
def test_an_infinite_rate_is_no_pause(bench: Any, written: Any, rate: float | None) -> None:
    assert bench.parse(**SHAPE, req_rate=written).req_rate == rate


def test_fields_of_existing_recipes_load(bench: Any, make_run: Any) -> None:
    block = {
        "req_rate": "inf",
        "warmup_req_rate": "inf",
        "random_range_ratio": 1.0,
        "use_chat_template": False,
        "num_prompts_mult": 5,
        "num_warmup_mult": 20,
        "dataset_name": "random",
        "reuse_http_connections": False,
        "num_prompts": 256,
        "warmup_prompts": 1,
    }
    spec = told(bench.command(make_run(), **SHAPE, **block))
    assert (spec.requests, spec.warmup_requests, spec.num_warmup_mult) == (256, 1, 20)
    assert (spec.use_chat_template, spec.reuse_http_connections, spec.random_range_ratio) == (False, False, 1.0)


def test_the_client_is_told_everything_by_one_file(bench: Any, make_run: Any) -> None:
    command = bench.command(make_run(), **SHAPE, duration_seconds=30)
    spec = told(command)
    assert command.program == ("{run.python}", "-m", "inferlane.load")
    assert command.args == ("--spec", "{run.files}/benchmark/load.json")
    assert command.on_host
    assert command.twin.prefer_real
    assert command.twin.module == ""
    assert (spec.endpoint, spec.model, spec.results) == ("http://{n0.host}:8000", "tiny", "{run.results}")
    assert (spec.concurrencies, spec.duration_seconds) == ((4, 8), 30.0)
    assert spec.gpus == Gpus(total=12, prefill=4, decode=8)
    assert command.problems == ()


def test_another_data_set_is_not_supported_yet(bench: Any) -> None:
    with pytest.raises(ValidationError, match="data set 'custom' is not supported yet"):
        bench.parse(**SHAPE, dataset_name="custom")


def test_a_known_key_that_would_change_the_run_is_refused_by_name(bench: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        bench.parse(**SHAPE, client_placement="last_decode")
    (error,) = refused.value.errors()
    assert error["loc"] == ("client_placement",)
    assert error["msg"].startswith("not supported yet")


def test_keys_without_effect_are_warned_about(bench: Any, make_run: Any) -> None:
    command = bench.command(make_run(), **SHAPE, custom_tokenizer="my_tokens.Tokenizer", stream_output=True)
    assert {(p.where, p.severity) for p in command.problems} == {
        ("benchmark.custom_tokenizer", "warning"),
        ("benchmark.stream_output", "warning"),
    }
    assert told(command).tokenizer is None


def test_a_tokenizer_path_reaches_the_client(bench: Any, make_run: Any) -> None:
    assert told(bench.command(make_run(), **SHAPE, custom_tokenizer="/models/tiny")).tokenizer == "/models/tiny"


def test_without_an_endpoint_the_plan_is_refused(bench: Any, make_run: Any) -> None:
    (problem,) = bench.command(make_run(endpoint=None), **SHAPE).problems
    assert (problem.where, problem.severity) == ("benchmark.type", "error")


def point(concurrency: int, **changes: Any) -> str:
    given = {
        "valid": True,
        "reason": "",
        "max_concurrency": concurrency,
        "num_prompts": 40,
        "sent": 40,
        "completed": 40,
        "failed": 0,
        "cancelled": 0,
        "settings": {"concurrencies": [4, 8]},
        "median_ttft_ms": 12.34567,
        "output_throughput": 100.0,
    }
    return json.dumps(given | changes)


def test_a_summary_of_valid_points_is_ok_with_a_row_each(bench: Any) -> None:
    summary = bench.summary({"b.json": point(8), "a.json": point(4)}, **SHAPE)
    assert summary.ok
    assert (summary.requests, summary.errors) == (80, 0)
    assert [row["concurrency"] for row in summary.rows] == [4, 8]
    assert summary.rows[0]["ttft_p50_ms"] == 12.346
    assert summary.rows[0]["output_tokens_per_s_per_gpu"] == "-"


def test_an_invalid_point_makes_the_summary_fail_with_its_reason(bench: Any) -> None:
    bad = point(4, valid=False, reason="8 of 8 requests failed", completed=0, failed=8)
    summary = bench.summary({"a": bad, "b": point(8)}, **SHAPE)
    assert not summary.ok
    assert summary.errors == 8
    assert summary.message == "concurrency 4: 8 of 8 requests failed"


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({}, "no result for concurrency 4, 8"),
        ({"a": point(4)}, "no result for concurrency 8"),
        ({"x": "{"}, "x: not a"),
    ],
)
def test_a_missing_or_broken_result_is_not_ok(bench: Any, outputs: dict[str, str], said: str) -> None:
    summary = bench.summary(outputs, **SHAPE)
    assert not summary.ok
    assert said in summary.message


def test_warnings_of_valid_points_are_in_the_verdict(bench: Any) -> None:
    doubtful = point(4, warnings=["the client is saturated"])
    summary = bench.summary({"a": doubtful, "b": point(8)}, **SHAPE)
    assert summary.ok
    assert summary.message == "warning: concurrency 4: the client is saturated"


@pytest.mark.parametrize("changes", [{"completed": 0, "failed": 40}, {"completed": 39}, {"sent": 41}])
def test_a_point_that_calls_itself_valid_against_its_own_counts_is_not_ok(bench: Any, changes: dict[str, int]) -> None:
    summary = bench.summary({"a": point(4, **changes), "b": point(8)}, **SHAPE)
    assert not summary.ok
    assert summary.message.startswith("concurrency 4: says it is valid, with ")


def test_the_least_share_of_output_reaches_the_client(bench: Any, make_run: Any) -> None:
    assert told(bench.command(make_run(), **SHAPE)).min_output_share == 0.9
    assert told(bench.command(make_run(), **SHAPE, min_output_share=0)).min_output_share == 0
