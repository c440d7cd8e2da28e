"""The load client as a real process against a server with faults."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pluggy
import pytest

from inferlane import hookspecs
from inferlane.builtin import sa_bench


@pytest.mark.parametrize(("mode", "kind"), [("zero", "zero_tokens"), ("cut", "cut"), ("503", "http_503")])
def test_a_run_without_answers_is_invalid_and_leaves_its_counts(server: Any, client: Any, mode: str, kind: str) -> None:
    server.mode = mode
    done = client.run()
    point = client.point()
    assert done.returncode == 1
    assert not point["valid"]
    assert point["errors"] == {kind: 8}
    assert (point["num_prompts"], point["completed"], point["failed"]) == (8, 0, 8)
    assert point["total_output_tokens"] == 0
    assert re.fullmatch(r"inferlane\.load: concurrency 4 is invalid: 8 of 8 requests failed .*\n", done.stderr)


def test_one_hanging_request_ends_the_run_with_the_rest_saved(server: Any, client: Any) -> None:
    server.hang_at = 2 + 3  # two calibration requests come first
    began = time.monotonic()
    done = client.run(stall_timeout_s=1.5)
    point = client.point()
    assert time.monotonic() - began < 15
    assert done.returncode == 1
    assert (point["completed"], point["cancelled"], point["not_sent"]) == (7, 1, 0)
    assert "stalled: no request ended for 1.5 s; 7 done, 0 failed, 1 outstanding" in done.stderr
    assert point["median_ttft_ms"] > 0


def test_warm_up_keeps_the_limit_and_is_not_counted(server: Any, client: Any) -> None:
    done = client.run(concurrencies=(4, 8), requests=24, warmup_requests=16)
    first, second = client.points()
    calibration, level = 2, 16 + 24
    assert done.returncode == 0, done.stderr
    assert max(server.arrivals[: calibration + level]) == 4
    assert max(server.arrivals[calibration + level :]) == 8
    assert [point["completed"] for point in (first, second)] == [24, 24]
    assert [point["warmup"]["requests"] for point in (first, second)] == [16, 16]
    assert [point["warmup"]["peak_in_flight"] for point in (first, second)] == [4, 8]
    assert [point["peak_in_flight"] for point in (first, second)] == [4, 8]
    assert first["settings"]["warmup_requests"] == 16


def test_the_default_warm_up_grows_with_each_level(server: Any, client: Any) -> None:
    client.run(concurrencies=(2, 4), num_warmup_mult=2)
    assert [point["warmup"]["completed"] for point in client.points()] == [4, 8]


def test_a_stalled_warm_up_is_an_invalid_point(server: Any, client: Any) -> None:
    server.hang_at = 4
    done = client.run(warmup_requests=4, stall_timeout_s=0.5)
    assert done.returncode == 1
    assert "in the warm-up, 3 done and 1 outstanding" in client.point()["reason"]


def test_sigterm_leaves_what_was_done_and_counts_the_rest_as_cancelled(server: Any, client: Any) -> None:
    server.hang_at = 3
    with client.start(requests=40) as process:
        while len(server.arrivals) < 20:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=10)
    point = client.point()
    assert process.returncode == 143
    assert "stopped by a signal" in err
    assert point["completed"] >= 10
    assert point["completed"] + point["cancelled"] + point["not_sent"] == 40
    lines = next(client.folder.glob("sa-bench_*/requests_*.jsonl")).read_text().splitlines()
    assert len(lines) == point["completed"] + point["cancelled"]


def test_a_good_run_measures_and_names_its_files_by_shape(server: Any, client: Any) -> None:
    done = client.run(gpus={"total": 12, "prefill": 4, "decode": 8}, isl=64, osl=8)
    path = client.folder / "sa-bench_isl_64_osl_8" / "results_concurrency_4_gpus_12_ctx_4_gen_8.json"
    point = json.loads(path.read_text())
    assert done.returncode == 0, done.stderr
    assert point["total_output_tokens"] == 64
    assert point["median_ttft_ms"] <= point["p99_ttft_ms"] <= point["max_ttft_ms"]
    assert point["mean_tpot_ms"] >= 2
    assert point["output_throughput_per_gpu"] == pytest.approx(point["output_throughput"] / 12)
    assert "tok/s/user" in done.stdout
    assert not list(client.folder.glob("**/.*.part"))


def test_the_benchmark_plugin_reads_what_the_client_wrote(server: Any, client: Any) -> None:
    manager = pluggy.PluginManager("inferlane")
    for specs in hookspecs.MODULES:
        manager.add_hookspecs(specs)
    manager.register(sa_bench)
    client.run(concurrencies=(2, 4), gpus={"total": 8})
    written = {path.name: path.read_text() for path in client.folder.glob(sa_bench.OUTPUTS[0])}
    block = sa_bench.SaBenchConfig(isl=32, osl=4, concurrencies=(2, 4))
    summary = manager.hook.inferlane_benchmark_summary(benchmark=block, outputs=written)
    assert summary.ok
    assert summary.requests == 16
    assert all(isinstance(value, (int, float)) for row in summary.rows for value in row.values())


def test_prompt_lengths_follow_the_servers_own_count(server: Any, client: Any) -> None:
    client.run(isl=103)
    point = client.point()
    assert point["lengths"] == {"per_word": 2.0, "fixed": 3.0, "source": "usage of the server"}
    assert point["total_input_tokens"] == 8 * 103


def test_a_server_without_usage_is_marked_as_estimated(server: Any, client: Any) -> None:
    server.mode = "no-usage"
    done = client.run()
    point = client.point()
    assert done.returncode == 0
    assert point["estimated_requests"] == 8
    assert "estimated from chunks" in done.stdout
    assert "the server told no usage" in point["lengths"]["source"]


@pytest.mark.parametrize(
    ("mode", "kind"), [("wrong", "wrong_count"), ("no-done", "cut"), ("error-event", "server_error")]
)
def test_an_answer_that_is_not_the_one_asked_for_is_an_error(server: Any, client: Any, mode: str, kind: str) -> None:
    server.mode = mode
    assert client.run(requests=4).returncode == 1
    assert client.point()["errors"] == {kind: 4}


def test_answers_that_are_too_short_make_a_point_invalid_with_the_numbers(server: Any, client: Any) -> None:
    server.mode = "stop"
    done = client.run()
    point = client.point()
    assert done.returncode == 1
    assert list(point)[:2] == ["valid", "reason"]
    assert point["reason"] == (
        "answers had 1.0 tokens on average, 4.0 were asked for (25.0%, and min_output_share wants 90%)"
    )
    assert (point["completed"], point["total_output_tokens"]) == (8, 8)


def test_a_length_that_the_server_explains_is_told_but_valid_when_any_length_will_do(server: Any, client: Any) -> None:
    server.mode = "stop"
    done = client.run(min_output_share=0)
    assert done.returncode == 0
    assert client.point()["stopped_short"] == 8
    assert "8 requests ended by the server's own stop" in done.stdout


def test_a_timed_run_cuts_off_what_is_open_and_stays_valid(server: Any, client: Any) -> None:
    server.chunk_s = 0.05
    done = client.run(requests=None, duration_seconds=0.7)
    point = client.point()
    assert done.returncode == 0, done.stderr
    assert point["end"] == "time is up"
    assert point["cancelled"] == 4
    assert 0.7 <= point["duration"] < 2


def test_an_invalid_point_ends_the_sweep(server: Any, client: Any) -> None:
    server.mode = "503"
    done = client.run(concurrencies=(1, 2, 4), requests=2)
    assert [point["max_concurrency"] for point in client.points()] == [1]
    assert "not run: concurrency 2, 4" in done.stderr


def test_a_slow_request_runs_into_its_own_limit(server: Any, client: Any) -> None:
    server.hang_at = 3
    done = client.run(request_timeout_s=0.5, max_error_share=0.2)
    assert done.returncode == 0
    assert client.point()["errors"] == {"timeout": 1}


def test_proxies_of_the_environment_are_not_used(server: Any, client: Any) -> None:
    nowhere = "http://127.0.0.1:1"
    done = client.run({"http_proxy": nowhere, "HTTP_PROXY": nowhere, "ALL_PROXY": nowhere})
    assert done.returncode == 0, done.stderr


def test_a_closed_port_is_an_error_of_each_request(make_client: Any) -> None:
    client = make_client("http://127.0.0.1:1")
    assert client.run(requests=4).returncode == 1
    assert client.point()["errors"] == {"connect": 4}


def test_chat_requests_go_to_the_chat_endpoint(server: Any, client: Any) -> None:
    assert client.run(use_chat_template=True).returncode == 0
    assert set(server.paths) == {"/v1/chat/completions"}
    assert server.bodies[-1]["messages"][0]["role"] == "user"
    assert client.point()["median_ttft_ms"] > 0


def test_a_rehearsal_caps_the_sweep_and_says_so(server: Any, client: Any) -> None:
    done = client.run({"INFERLANE_REHEARSAL": "1"}, isl=8192, osl=1024, concurrencies=(4,), requests=5)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("capped for the rehearsal: isl 64, osl 16")
    assert (client.folder / "sa-bench_isl_64_osl_16").is_dir()


def test_a_wrong_specification_is_one_line_and_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    path.write_text('{"endpoint": "http://127.0.0.1:1", "isl": 0}')
    argv = [sys.executable, "-m", "inferlane.load", "--spec", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "not a load specification" in done.stderr


def test_progress_is_told_while_requests_run(server: Any, client: Any) -> None:
    server.chunk_s = 0.05
    done = client.run(progress_s=0.1)
    assert re.search(r"concurrency 4 measured: \d/8 done, 0 failed, 4 in flight", done.stdout)


def test_the_synthetic_load_asks_the_endpoint_of_its_orders(server: Any, tmp_path: Path) -> None:
    orders = tmp_path / "orders.json"
    options = {"endpoint": server.url, "model": "tiny", "results": str(tmp_path / "synthetic")}
    orders.write_text(
        json.dumps({"process": "benchmark", "kind": "benchmark", "type": "custom", "host": "x", "options": options})
    )
    argv = [sys.executable, "-m", "inferlane.load.synthetic", "curl $SRT_ENDPOINT"]
    done = subprocess.run(argv, capture_output=True, text=True, env={"INFERLANE_TWIN": str(orders)}, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "synthetic").glob("sa-bench_*/results_*.json"))) == 1
    assert len(server.arrivals) == 2 + 16
    assert max(server.arrivals) == 4
