"""A process that lives and does not work: told from one that loads, and named."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from inferlane.testing.handmade import PUBLIC, health, plan, process, served, server, shell
from inferlane.values import PortBlock

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]

BENCH = shell("bench", "sleep 60", kind="benchmark")

LOADER = """
import sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
began, load_s = time.monotonic(), float(sys.argv[3])
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        self.send_response(200 if time.monotonic() - began > load_s else 503)
        self.send_header("content-length", "0")
        self.end_headers()
server = HTTPServer((sys.argv[1], int(sys.argv[2])), Handler)
server.timeout = 0.2
while True:
    server.handle_request()
    if sys.argv[4] == "talks":
        print(f"loaded {time.monotonic() - began:.1f} s of weights", flush=True)
"""


def _loader(seconds: float, talks: bool) -> Any:
    words = ("{n0.bind}", "6100", str(seconds), "talks" if talks else "quiet")
    return process("w", sys.executable, "-c", LOADER, *words, ports={"http": PortBlock(first=6100)})


def _pid(run: Any, name: str) -> int:
    pid: int = run.wait_for("process.start", process=name)["pid"]
    return pid


@pytest.mark.parametrize("moment", ["process.start", "run.ready"])
def test_a_worker_that_falls_silent_is_named_with_how_long_and_its_last_answer(start: Start, moment: str) -> None:
    late = () if moment == "run.ready" else (server("worker-1", 6101, options=("health=503",)),)
    gates = (health("worker-0", PUBLIC), *(health(item.name, 6101) for item in late))
    run = start(served(BENCH, *late, gates=gates, silence_s=1.5))
    run.wait_for("process.state", process="worker-0", state="ready")
    if moment == "run.ready":
        run.wait_for("run.ready")
    os.kill(_pid(run, "worker-0"), signal.SIGUSR2)  # it accepts, and never answers again
    code, out = run.end(30)
    cause = run.verdict()["cause"]
    assert code == 1
    assert (cause["kind"], cause["process"]) == ("wedged", "worker-0")
    assert "worker-0 on n0 was ready, and for" in out
    assert "nothing within 2 s" in out
    assert "serving on" in "".join(cause["log_tail"])
    assert run.verdict()["clean"]


def test_a_worker_that_comes_back_in_time_is_no_failure(start: Start) -> None:
    run = start(served(shell("bench", "sleep 6", kind="benchmark"), silence_s=20))
    run.wait_for("run.ready")
    pid = _pid(run, "worker-0")
    os.kill(pid, signal.SIGSTOP)
    run.wait_for("process.state", process="worker-0", state="silent")
    os.kill(pid, signal.SIGCONT)
    code, _ = run.end(30)
    assert code == 0
    states = [event["state"] for event in run.events() if event["event"] == "process.state"]
    assert states == ["ready", "silent", "ready"]


def test_a_benchmark_that_somebody_holds_is_told_and_in_the_end_the_cause(start: Start) -> None:
    run = start(served(BENCH, silence_s=4))
    os.kill(_pid(run, "bench"), signal.SIGSTOP)
    code, out = run.end(30)
    assert code == 1
    assert "warning: bench is stopped by a signal such as SIGSTOP" in out
    assert "bench on n0 has been stopped by a signal" in run.verdict()["cause"]["message"]
    assert run.verdict()["clean"]


def test_without_a_limit_silence_is_only_recorded(start: Start) -> None:
    run = start(served(shell("bench", "sleep 4", kind="benchmark"), silence_s=0))
    run.wait_for("run.ready")
    os.kill(_pid(run, "worker-0"), signal.SIGUSR2)
    run.wait_for("process.state", process="worker-0", state="silent")
    code, out = run.end(30)
    assert code == 0
    assert "warning: worker-0 did not answer when the benchmark had ended" in out


def test_a_server_that_still_loads_by_its_log_is_not_killed_at_the_deadline(start: Start) -> None:
    run = start(
        plan(_loader(5, talks=True), shell("bench", "true", kind="benchmark"), gates=(health("w"),), start_timeout_s=3)
    )
    code, out = run.end(30)
    assert code == 0
    assert "the start deadline of 3 s has passed, but w still makes progress" in out
    assert [event["processes"] for event in run.events() if event["event"] == "deadline.extended"] == [["w"]]


def test_one_that_says_nothing_new_is_ended_at_the_deadline_with_its_last_answer(start: Start) -> None:
    began = time.monotonic()
    run = start(plan(_loader(60, talks=False), BENCH, gates=(health("w"),), start_timeout_s=4))
    code, out = run.end(30)
    assert code == 4
    assert 4 <= time.monotonic() - began < 15
    assert "/health: HTTP 503" in out
    assert run.verdict()["cause"]["process"] == "w"


def test_a_log_that_says_up_while_the_probe_disagrees_is_pointed_out(start: Start) -> None:
    worker = server("worker-0", PUBLIC, options=("health=503",), ready_log=("serving on",))
    run = start(plan(worker, BENCH, gates=(health("worker-0", PUBLIC),), start_timeout_s=2))
    code, out = run.end(30)
    assert code == 4
    assert "its log says that it is up (serving on" in out


def test_the_events_tell_phases_and_gates_in_order(start: Start) -> None:
    run = start(served(shell("decode-0", "sleep 2; exit 7"), BENCH))
    code, _ = run.end(30)
    assert code == 1
    names = [event["event"] for event in run.events()]
    assert names.index("phase.start") < names.index("gate.wait") < names.index("gate.open") < names.index("run.ready")


def test_a_client_that_fails_while_a_worker_is_silent_has_not_failed_first(start: Start) -> None:
    client = shell("bench", "sleep 5; echo no answer; exit 1", kind="benchmark")
    run = start(served(client, silence_s=60))
    run.wait_for("process.start", process="bench")
    os.kill(_pid(run, "worker-0"), signal.SIGUSR2)
    code, out = run.end(30)
    cause = run.verdict()["cause"]
    assert code == 1
    assert (cause["kind"], cause["process"]) == ("wedged", "worker-0")
    assert "then benchmark bench: exit code 1" in out
