"""The custom benchmark plugin, through its hooks."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from pydantic import ValidationError

from inferlane.api import Node, Peer


@pytest.fixture
def bench(load_bench: Any) -> Any:
    return load_bench("inferlane.builtin.custom_benchmark")


def test_the_command_is_handed_to_bash_exactly_as_written(bench: Any, make_run: Any) -> None:
    text = 'set -e\nfor x in a "b c"; do echo ${x}; done\n'
    command = bench.command(make_run(), command=text, container_image="tools:1", env={"CONC": "2"})
    assert (command.program, command.args) == (("bash", "-o", "pipefail", "-c"), (text,))
    assert command.image == "tools:1"
    assert not command.on_host


def test_the_command_is_told_the_real_endpoint_and_workers(bench: Any, make_run: Any) -> None:
    env = bench.command(make_run(), command="x").env_defaults
    assert env["SRT_ENDPOINT"] == "http://{n0.host}:8000"
    assert (env["SRT_FRONTEND_HOST"], env["SRT_FRONTEND_PORT"]) == ("{n0.host}", "8000")
    assert env["SRTCTL_FRONTEND_TYPE"] == "pairing"
    assert env["SRT_PREFILL_IPS"] == "{n0.ip}"
    assert env["SRT_DECODE_IPS"] == "{n1.ip},{n1.ip}"
    assert env["SRT_DECODE_ENDPOINTS"] == "{n1.host}:6100,{n1.host}:6101"
    assert "SRT_AGG_IPS" not in env
    assert (env["SRT_GPUS_PER_NODE"], env["SRT_WORKER_NODES"]) == ("8", "{n0.name},{n1.name}")
    assert (env["SRT_JOB_ID"], env["SRT_LOG_DIR"], env["SRT_MODEL_NAME"]) == ("{run.id}", "{run.logs}", "tiny")


def test_services_are_told_by_name(bench: Any, make_run: Any) -> None:
    peers = [
        Peer(type="generic", name="kv-store", process=f"s{i}", part="main", node=Node(name=node))
        for i, node in enumerate(("n0", "n1", "n1"))
    ]
    env = bench.command(make_run(services=tuple(peers)), command="x").env_defaults
    assert env["SRT_SERVICE_KV_STORE_NODES"] == "{n0.name},{n1.name}"
    assert env["SRT_SERVICE_KV_STORE_IPS"] == "{n0.ip},{n1.ip}"
    assert env["SRT_SERVICE_KV_STORE_NODE_COUNT"] == "2"


def test_only_the_first_upstream_of_a_worker_is_its_endpoint(bench: Any, make_run: Any) -> None:
    run = make_run()
    doubled = (*run.upstreams, type(run.upstreams[0])(process="p1", role="prefill", worker=0, node=Node(name="n9")))
    env = bench.command(make_run(upstreams=doubled), command="x").env_defaults
    assert env["SRT_PREFILL_IPS"] == "{n0.ip}"


def test_workers_without_an_address_have_no_endpoint_list(bench: Any, make_run: Any) -> None:
    found = make_run().upstreams[0]
    hidden = type(found)(process="p", role="agg", worker=0, node=found.node)
    env = bench.command(make_run(upstreams=(hidden,)), command="x").env_defaults
    assert env["SRT_AGG_IPS"] == "{n0.ip}"
    assert "SRT_AGG_ENDPOINTS" not in env


def test_a_job_without_endpoint_is_told_none(bench: Any, make_run: Any) -> None:
    command = bench.command(make_run(endpoint=None, router=None), command="x")
    assert not {"SRT_ENDPOINT", "SRT_FRONTEND_HOST"} & set(command.env_defaults)
    assert "endpoint" not in command.twin.options


def test_a_rehearsal_gets_a_synthetic_load(bench: Any, make_run: Any) -> None:
    twin = bench.command(make_run(), command="x").twin
    assert (twin.module, twin.prefer_real) == ("inferlane.load.synthetic", False)
    told = {"endpoint": "http://{n0.host}:8000", "model": "tiny", "results": "{run.results}/synthetic"}
    assert twin.options == told


def test_keys_that_only_matter_elsewhere_are_warned_about(bench: Any, make_run: Any) -> None:
    problems = bench.command(make_run(), command="x", use_chat_template=True).problems
    assert [(p.where, p.severity) for p in problems] == [("benchmark.use_chat_template", "warning")]


def test_an_empty_command_is_refused(bench: Any) -> None:
    with pytest.raises(ValidationError, match="use type 'manual'"):
        bench.parse(command="  \n")


def test_the_exit_status_decides_where_no_outputs_are_named(bench: Any) -> None:
    assert bench.summary({}, command="x") is None


@pytest.mark.parametrize(
    ("text", "code"), [("exit 7 | cat", 7), ("echo a | cat", 0), ("set +o pipefail; false | cat", 0)]
)
def test_the_status_of_a_client_is_not_lost_in_a_pipe(bench: Any, make_run: Any, text: str, code: int) -> None:
    command = bench.command(make_run(), command=text)
    done = subprocess.run([*command.program, *command.args], capture_output=True, check=False)
    assert done.returncode == code


WHERE = "in the results folder (SRT_RESULT_DIR)"
GLOBS = {"command": "x", "outputs": ["bench/*.json", "trace.txt"]}
GOOD = {"num_prompts": 100, "completed": 100, "total_output_tokens": 900, "output_throughput": 12.34567}


def left(**changes: Any) -> dict[str, str]:
    return {"bench/a.json": json.dumps(GOOD | changes), "trace.txt": "any text"}


def test_outputs_are_read_back_by_their_globs(bench: Any, make_run: Any) -> None:
    assert bench.command(make_run(), **GLOBS).outputs[:2] == ("bench/*.json", "trace.txt")


def test_counts_in_a_result_are_shown(bench: Any) -> None:
    summary = bench.summary(left(), **GLOBS)
    assert (summary.ok, summary.requests, summary.errors, summary.message) == (True, 100, 0, "")
    (row,) = summary.rows
    assert (row["file"], row["ok"], row["output_tokens_per_s"]) == ("bench/a.json", 100, 12.346)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({}, f"nothing matches bench/*.json {WHERE}; nothing matches trace.txt {WHERE}"),
        ({"bench/a.json": "{}"}, f"nothing matches trace.txt {WHERE}"),
        ({"trace.txt": "x", "bench/deep/a.json": "{}"}, f"nothing matches bench/*.json {WHERE}"),
        (left() | {"trace.txt": "\n"}, "trace.txt is empty"),
        (left(completed=99), "bench/a.json: 1 of 100 requests failed"),
        (left(failed=2, num_prompts=None), "bench/a.json: 2 of 102 requests failed"),
        (left(completed=0), "bench/a.json: no request was completed, of 100"),
        (left(total_output_tokens=0), "bench/a.json: no token came back"),
        (left(valid=False, reason="stalled"), "bench/a.json: says it is not valid: stalled"),
    ],
)
def test_partial_success_is_not_success(bench: Any, outputs: dict[str, str], said: str) -> None:
    summary = bench.summary(outputs, **GLOBS)
    assert not summary.ok
    assert summary.message == said


def test_a_share_of_failed_requests_can_be_allowed(bench: Any) -> None:
    assert bench.summary(left(completed=99), **GLOBS, max_error_share=0.01).ok
    assert not bench.summary(left(completed=98), **GLOBS, max_error_share=0.01).ok


def test_requests_that_a_timed_client_cut_off_are_no_errors(bench: Any) -> None:
    summary = bench.summary(left(completed=96, cancelled=4), **GLOBS)
    assert (summary.ok, summary.errors, summary.cancelled) == (True, 0, 4)


def test_one_result_for_each_line_is_read_too(bench: Any) -> None:
    lines = "\n".join(json.dumps(GOOD | {"completed": count}) for count in (100, 90))
    summary = bench.summary({"bench/a.json": lines, "trace.txt": "x"}, **GLOBS)
    assert (summary.requests, summary.errors) == (200, 10)


NONE = {"num_prompts": 100, "completed": 0, "failed": 100}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(NONE | {"mean_ttft_ms": float("nan"), "total_output_tokens": float("nan")}),
        "\ufeff" + json.dumps(NONE),
        json.dumps([NONE]),
        json.dumps({key: float(value) for key, value in NONE.items()}),
        json.dumps({key: str(value) for key, value in NONE.items()}),
        json.dumps(NONE | {"cancelled": None, "big": 10**30}),
    ],
    ids=["nan", "byte order mark", "list", "floats", "strings", "null"],
)
def test_failed_requests_are_seen_however_they_are_written(bench: Any, text: str) -> None:
    summary = bench.summary({"bench/a.json": text, "trace.txt": "x"}, **GLOBS)
    assert summary.message == "bench/a.json: no request was completed, of 100"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(GOOD)[:-3], "is no JSON, or was cut off"),
        (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)[:9]}", "is no JSON, or was cut off"),
        ("[" * 200_000, "is no JSON, or was cut off: too deep"),
        ('{"a": ' + "9" * 5000, "is no JSON, or was cut off"),
        (json.dumps(GOOD | {"failed": "many"}), "counts cannot be read"),
        (json.dumps(GOOD | {"num_prompts": -5}), "counts cannot be read"),
    ],
    ids=["cut", "last line cut", "deep", "long", "words", "negative"],
)
def test_a_result_that_cannot_be_read_is_no_success(bench: Any, text: str, said: str) -> None:
    summary = bench.summary({"bench/a.json": text, "trace.txt": "x"}, **GLOBS)
    assert not summary.ok
    assert summary.message.startswith(f"bench/a.json: {said}")


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"completed": "2026-01-01"}', '{"completed": true}', "7" * 5000])
def test_json_without_counts_is_another_kind_of_file(bench: Any, text: str) -> None:
    summary = bench.summary({"bench/a.json": text, "trace.txt": "x"}, **GLOBS)
    assert (summary.ok, summary.rows) == (True, ())


def test_a_file_that_was_too_large_to_be_read_whole_is_no_cut_result(bench: Any) -> None:
    text = f'{{"completed": 1, "latencies": [{"1," * (1 << 24)}'
    assert bench.summary({"bench/a.json": text, "trace.txt": "x"}, **GLOBS).ok


@pytest.mark.parametrize("glob", ["/etc/*", "../x", "a//b", "", "a/**/b"])
def test_outputs_stay_below_the_results_folder(bench: Any, glob: str) -> None:
    with pytest.raises(ValidationError, match="is no path below the results folder"):
        bench.parse(command="x", outputs=[glob])


def test_a_rehearsal_is_judged_by_its_synthetic_load_alone(bench: Any) -> None:
    point = {"valid": False, "reason": "stalled", "max_concurrency": 4, "num_prompts": 16, "sent": 16, "completed": 3}
    rest = {"failed": 0, "cancelled": 13, "settings": {"concurrencies": [4]}}
    told = {"synthetic/sa-bench_isl_16_osl_8/results_concurrency_4.json": json.dumps(point | rest)}
    assert bench.summary(told, **GLOBS).message == "concurrency 4: stalled"
    assert bench.summary({"synthetic/nothing.txt": "no load"}, **GLOBS) is None
