"""Runs that fail say why, soon, and leave nothing."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from inferlane.testing import handmade
from inferlane.testing.handmade import health, plan, served, server, shell, upstream
from inferlane.values import Gate, LogCheck

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]


def test_a_worker_that_dies_at_once_ends_the_run_with_its_code_and_its_words(start: Start) -> None:
    run = start(plan(shell("agg-0", "echo bad flag; exit 3"), gates=(health("agg-0"),), start_timeout_s=600))
    code, out = run.end(15)
    assert code == 1
    assert "agg-0 on n0 ended by itself with exit code 3" in out
    assert "bad flag" in out
    assert "RetryError" not in out
    cause = run.verdict()["cause"]
    assert (cause["process"], cause["exit_code"], cause["log_tail"]) == ("agg-0", 3, ["bad flag"])


def test_a_worker_that_ends_well_before_the_run_is_finished_is_a_failure(start: Start) -> None:
    run = start(served(shell("decode-0", "sleep 0.3")))
    code, out = run.end()
    assert code == 1
    assert "decode-0 on n0 ended by itself with exit code 0" in out


def test_the_first_to_fail_is_named_and_its_siblings_are_not_the_cause(start: Start) -> None:
    prefill = server("prefill-0", 6101)
    run = start(served(prefill, shell("decode-0", "sleep 0.5; exit 7"), shell("bench", "sleep 60", kind="benchmark")))
    code, _ = run.end()
    verdict = run.verdict()
    assert code == 1
    assert (verdict["cause"]["process"], verdict["cause"]["exit_code"]) == ("decode-0", 7)
    assert verdict["clean"]
    assert {item["process"]: item["state"] for item in verdict["processes"]}["prefill-0"] == "stopped"


def test_a_worker_that_dies_during_the_benchmark_is_the_cause_and_not_the_client(start: Start) -> None:
    endpoint = f"http://{handmade.HEAD.host}:{handmade.PUBLIC}"
    client = handmade.process("bench", sys.executable, "-c", _CLIENT, endpoint, kind="benchmark")
    run = start(served(client, options=("die_after=3",)))
    code, _ = run.end()
    assert code == 1
    assert (run.verdict()["cause"]["process"], run.verdict()["cause"]["exit_code"]) == ("worker-0", 7)


_CLIENT = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for _ in range(9):
    opener.open(urllib.request.Request(sys.argv[1] + "/v1/completions", b"{}"), timeout=5).read()
"""


def test_a_failing_benchmark_fails_the_run_with_its_own_code_on_record(start: Start) -> None:
    run = start(served(shell("bench", "echo no results; exit 9", kind="benchmark")))
    code, out = run.end()
    assert code == 1
    assert "benchmark bench: exit code 9" in out
    assert run.verdict()["cause"]["exit_code"] == 9


def test_a_process_that_is_never_critical_may_die(start: Start) -> None:
    exporter = shell("exporter", "exit 4", kind="service", critical="never")
    run = start(served(exporter, shell("bench", "sleep 0.3", kind="benchmark")))
    code, out = run.end()
    assert code == 0
    assert "exporter ended with exit code 4; the run goes on without it" in out


def test_a_taken_public_port_is_refused_before_anything_starts(start: Start) -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("", 0))
        holder.listen()
        port = holder.getsockname()[1]
        run = start(plan(server("agg-0", port), endpoint=f"http://{handmade.HEAD.host}:{port}"))
        code, out = run.end()
    assert code == 1
    assert f"port {port}, the public port of the endpoint" in out
    assert f"0.0.0.0:{port}" in out
    assert run.verdict()["processes"] == []


def test_a_worker_that_never_gets_healthy_ends_with_4_and_all_names(start: Start) -> None:
    worker = server("decode-0", 6100, ("health=503",))
    run = start(plan(worker, gates=(health("decode-0"),), start_timeout_s=1))
    code, out = run.end()
    assert code == 4
    assert "gate 'decode-0 is healthy' of decode-0" in out
    assert ":6100/health: HTTP 503" in out
    assert run.verdict()["verdict"] == "not_ready"
    assert any("serving on" in line for line in run.verdict()["cause"]["log_tail"])


def test_odd_bytes_in_a_log_do_not_hide_the_reason(start: Start) -> None:
    script = r"printf '\342\050\241\n\033[2Jreason: no memory\n\342\202'; exit 1"
    run = start(plan(shell("agg-0", script)))
    code, out = run.end()
    assert code == 1
    assert "reason: no memory" in out
    assert "\x1b" not in out


def test_a_router_that_is_ready_but_cannot_generate_gets_no_load(start: Start) -> None:
    router = server("router", handmade.PUBLIC, ("status=503",), kind="router")
    made = plan(
        server("decode-0", 6100),
        router,
        shell("bench", "true", kind="benchmark"),
        gates=(health("decode-0"), health("router", handmade.PUBLIC)),
        endpoint=f"http://{handmade.HEAD.host}:{handmade.PUBLIC}",
        upstreams=(upstream("decode-0"),),
        start_timeout_s=2,
    )
    run = start(made)
    code, out = run.end()
    assert code == 4
    assert "generation through router failed" in out
    assert "not served by decode-0" in out
    assert "HTTP 503" in out
    assert not any(event.get("process") == "bench" for event in run.events())


def test_a_worker_that_no_request_reaches_is_named(start: Start) -> None:
    router = server("router", handmade.PUBLIC, (f"forward=http://{handmade.HEAD.host}:6100",), kind="router")
    made = plan(
        server("agg-0", 6100),
        server("agg-1", 6101),
        router,
        gates=(health("agg-0"), health("agg-1", 6101), health("router", handmade.PUBLIC)),
        endpoint=f"http://{handmade.HEAD.host}:{handmade.PUBLIC}",
        upstreams=(upstream("agg-0"), upstream("agg-1", 6101)),
        start_timeout_s=2,
    )
    code, out = start(made).end()
    assert code == 4
    assert "not served by agg-1" in out


def test_a_refusal_that_cannot_heal_is_not_retried(start: Start) -> None:
    began = time.monotonic()
    code, out = start(served(options=("status=401",))).end()
    assert code == 1
    assert "generation through the endpoint failed after 1 tries" in out
    assert time.monotonic() - began < 10


def test_a_completion_without_tokens_is_no_completion(start: Start) -> None:
    code, out = start(served(options=("tokens=0",), start_timeout_s=2)).end()
    assert code == 4
    assert "a completion of no tokens" in out


def test_a_missing_program_is_named_before_anything_starts(start: Start) -> None:
    run = start(served(handmade.process("agg-1", "no-such-engine")))
    code, out = run.end()
    assert code == 1
    assert "agg-1: the program 'no-such-engine'" in out
    assert not (run.folder / "events.jsonl").exists()


def test_a_line_that_means_never_ends_the_run_at_once(start: Start) -> None:
    worker = shell("agg-0", "echo starting; echo CRITICAL: device lost; sleep 60", fatal_log=("device lost",))
    run = start(plan(worker, gates=(health("agg-0"),)))
    code, out = run.end(10)
    assert code == 1
    assert "a line of its log is fatal: CRITICAL: device lost" in out


def test_secrets_reach_the_process_and_nothing_else(start: Start) -> None:
    env = {"HF_TOKEN": "${MY_VALUE}", "API_KEY": "literal-key"}
    worker = shell("agg-0", 'echo "token is $HF_TOKEN"; exit 1', env=env)
    run = start(plan(worker), env={"MY_VALUE": "hidden-word"})
    _, out = run.end()
    written = "".join(path.read_text() for path in run.folder.glob("*.json*"))
    assert "token is ***" in out
    assert "hidden-word" not in out + written
    assert "literal-key" not in written


def test_a_variable_that_is_not_set_is_named_before_anything_starts(start: Start) -> None:
    code, out = start(plan(shell("agg-0", "true", env={"HF_TOKEN": "${NOT_SET_ANYWHERE}"}))).end()
    assert code == 1
    assert "agg-0: HF_TOKEN refers to ${NOT_SET_ANYWHERE}" in out


def test_every_gate_that_is_still_closed_at_the_deadline_is_named(start: Start) -> None:
    workers = [server(f"decode-{index}", 6100 + index, ("health=503",)) for index in range(2)]
    gates = tuple(health(f"decode-{index}", 6100 + index) for index in range(2))
    code, out = start(plan(*workers, gates=gates, start_timeout_s=1)).end()
    assert code == 4
    assert "also waiting: decode-" in out


def test_a_service_that_blocks_the_workers_is_waited_for_first(start: Start) -> None:
    store = shell("store", "sleep 0.5; echo data plane up; sleep 60", kind="service", phase="before_workers", tier=3)
    gate = Gate(name="store", before="workers", checks=(LogCheck(process="store", pattern="data plane"),))
    made = served(store, shell("bench", "true", kind="benchmark"))
    run = start(msgspec.structs.replace(made, gates=(*made.gates, gate)))
    code, _ = run.end()
    order = [event.get("process") or event.get("gate") for event in run.events() if event["event"] in _ORDER]
    assert code == 0
    assert order[:3] == ["store", "store", "worker-0"]


_ORDER = ("process.start", "gate.open")


def test_a_line_after_which_a_gate_can_never_hold_ends_the_run_at_once(start: Start) -> None:
    never = LogCheck(process="store", pattern="registration failed")
    check = LogCheck(process="store", pattern="data plane")
    gate = Gate(name="store", before="workers", checks=(check,), fail_on=(never,))
    store = shell("store", "echo registration failed; sleep 60", kind="service", phase="before_workers", tier=3)
    made = served(store)
    code, out = start(msgspec.structs.replace(made, gates=(*made.gates, gate))).end(10)
    assert code == 1
    assert "store: gate 'store' cannot hold: registration failed" in out


def test_where_nothing_tells_who_served_as_many_in_a_row_as_there_are_is_enough(start: Start) -> None:
    bench = shell("bench", "true", kind="benchmark")
    untold = tuple(msgspec.structs.replace(upstream(f"w{index}", told=False), ranks=2) for index in range(2))
    code, out = start(served(bench, upstreams=untold)).end()
    assert code == 0
    assert "every upstream has served (4 completions)" in out


def test_a_fault_that_nobody_planned_for_still_ends_everything_in_order(start: Start) -> None:
    run = start(served(shell("no/such/folder", "sleep 60", kind="service")))
    code, out = run.end()
    assert code == 1
    assert "the supervisor failed: FileNotFoundError" in out
    assert {item["process"]: item["state"] for item in run.verdict()["processes"]} == {"worker-0": "stopped"}


def test_a_pattern_that_is_none_is_refused_before_anything_starts(start: Start) -> None:
    code, out = start(served(shell("store", "true", fatal_log=("(",)))).end()
    assert code == 1
    assert "store: '(' is not a regular expression" in out
