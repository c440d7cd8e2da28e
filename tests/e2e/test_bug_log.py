"""Failures that other launchers had in the field, played again as they were told."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from inferlane.running.leftovers.sweep import carriers
from inferlane.testing.handmade import HEAD, PUBLIC, health, plan, process, served, server, shell, upstream
from inferlane.testing.runs import Running
from inferlane.values import Counter, Plan, PortBlock

pytestmark = pytest.mark.e2e

Start = Callable[..., Running]
BENCH = shell("bench", "exec sleep 60", kind="benchmark")

FORGETFUL = """
import json, sys, threading, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def healthy(url):
    try:
        return opener.open(url + "/health", timeout=1).status == 200
    except OSError:
        return False
began, known = time.monotonic(), []
while time.monotonic() - began < 1:
    known += [url for url in sys.argv[3:] if url not in known and healthy(url)]
    time.sleep(0.05)
print("workers:", len(known), flush=True)
class Handler(BaseHTTPRequestHandler):
    turn = 0
    def log_message(self, *args): pass
    def do_GET(self):
        self.answer(b"ok")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Handler.turn += 1
        url = known[Handler.turn % len(known)] + self.path
        self.answer(opener.open(urllib.request.Request(url, body), timeout=5).read())
    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

RANKS = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
served, tried = [0, 0], [0]
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        rows = "".join('served_total{rank="%d"} %d\\n' % row for row in enumerate(served))
        self.answer(200, rows.encode())
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        rank = tried[0] % 2
        tried[0] += 1
        if rank:
            return self.answer(400, b"rank 1 does not serve")
        served[rank] += 1
        self.answer(200, json.dumps({"choices": [{"text": "x"}], "usage": {"completion_tokens": 1}}).encode())
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

SLOW_END = """
import signal, sys, time
def end(*_):
    time.sleep(2)
    open(sys.argv[1], "w").write("flushed")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True:
    signal.pause()
"""


def _python(name: str, script: str, port: int, *words: str, **fields: Any) -> Any:
    ports = {"http": PortBlock(first=port)}
    return process(name, sys.executable, "-c", script, HEAD.bind, str(port), *words, ports=ports, **fields)


def _routed(router: Any, *workers: Any, before: Any = "router", **fields: Any) -> Plan:
    ports = {worker.name: worker.ports["http"].first for worker in workers}
    return plan(
        *workers,
        router,
        shell("bench", "true", kind="benchmark"),
        gates=(*(health(name, port, before=before) for name, port in ports.items()), health("router", PUBLIC)),
        endpoint=f"http://{HEAD.host}:{PUBLIC}",
        upstreams=tuple(upstream(name, port) for name, port in ports.items()),
        **fields,
    )


def test_a_router_that_forgets_slow_workers_is_started_after_the_slowest_and_keeps_all(start: Start) -> None:
    urls = [f"http://{HEAD.host}:{port}" for port in (6100, 6101)]
    workers = server("prefill-0", 6100), server("prefill-1", 6101, ("load=4",))
    run = start(_routed(_python("router", FORGETFUL, PUBLIC, *urls, kind="router"), *workers))
    code, out = run.end()
    times = {event["process"]: event["t"] for event in run.events() if event["event"] == "process.start"}
    assert code == 0, out
    assert times["router"] - times["prefill-1"] >= 4
    assert "workers: 2" in run.log("router")
    assert out.index("gate prefill-1 is healthy: holds") < out.index("phase router: starting router")


def test_without_that_gate_the_worker_that_was_forgotten_is_named_and_gets_no_load(start: Start) -> None:
    urls = [f"http://{HEAD.host}:{port}" for port in (6100, 6101)]
    workers = server("prefill-0", 6100), server("prefill-1", 6101, ("load=3",))
    router = _python("router", FORGETFUL, PUBLIC, *urls, kind="router")
    run = start(_routed(router, *workers, before="traffic", start_timeout_s=6))
    code, out = run.end(30)
    assert code == 4
    assert "workers: 1" in run.log("router")
    assert "generation through router failed" in out
    assert "not served by prefill-1" in out
    assert not run.has("process.start", process="bench")


def test_ranks_that_refuse_every_other_request_are_told_and_get_no_load(start: Start) -> None:
    worker = _python("decode-0", RANKS, 6100)
    router = server("router", PUBLIC, (f"forward=http://{HEAD.host}:6100",), kind="router")
    counter = Counter(series="served_total", rank_label="rank")
    made = _routed(router, worker, start_timeout_s=4)
    run = start(replace(made, upstreams=(replace(upstream("decode-0"), ranks=2, served=counter),)))
    code, out = run.end()
    assert code == 4
    assert "generation through router failed" in out
    assert "not served by decode-0 (1 of 2 ranks)" in out
    assert not run.has("process.start", process="bench")


def test_a_decode_that_dies_is_first_to_fail_and_prefill_and_router_end_with_it(start: Start) -> None:
    router = server("router", PUBLIC, (f"forward=http://{HEAD.host}:6100",), kind="router")
    made = _routed(router, server("prefill-0", 6100))
    decode = shell("decode-0", "sleep 2; exit 7")
    run = start(replace(made, processes=(*made.processes[:2], decode, BENCH)))
    code, out = run.end(15)
    verdict = run.verdict()
    states = {item["process"]: item["state"] for item in verdict["processes"]}
    assert code == 1
    assert "decode-0 on n0 ended by itself with exit code 7" in out
    assert (verdict["cause"]["process"], verdict["cause"]["exit_code"]) == ("decode-0", 7)
    assert states == {"prefill-0": "stopped", "router": "stopped", "decode-0": "ended", "bench": "stopped"}
    assert carriers(verdict["id"]) == []


def test_a_detached_child_of_a_worker_is_gone_before_the_run_is_called_clean(start: Start) -> None:
    run = start(served(shell("decode-0", "setsid sh -c 'exec sleep 987' <&- >&- 2>&- &\nexec sleep 600")))
    run.wait_for("run.ready")
    run.until(lambda: len(carriers(run.folder.name)) >= 3, "the detached child")
    run.popen.send_signal(signal.SIGTERM)
    code, out = run.end()
    verdict = run.verdict()
    assert code == 143
    assert verdict["clean"]
    assert carriers(verdict["id"]) == []
    assert any("sleep 987" in item for item in verdict["swept"])
    assert "everything is gone" in out


def test_a_worker_that_needs_two_seconds_to_flush_gets_them(start: Start, tmp_path: Path) -> None:
    flushed = tmp_path / "flushed"
    worker = process("decode-0", sys.executable, "-c", SLOW_END, str(flushed))
    run = start(served(worker, BENCH), grace=10)
    run.wait_for("run.ready")
    run.until(lambda: "up" in run.log("decode-0"), "worker")
    run.popen.send_signal(signal.SIGINT)
    code, _ = run.end()
    assert code == 130
    assert flushed.read_text() == "flushed"
    assert {item["process"]: item["state"] for item in run.verdict()["processes"]}["decode-0"] == "stopped"


def test_a_worker_that_ignores_term_is_gone_soon_after_the_grace_of_five_seconds(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=5)
    run.wait_for("process.start", process="bench")
    began = time.monotonic()
    run.popen.send_signal(signal.SIGINT)
    code, out = run.end()
    assert code == 130
    assert 2.5 < time.monotonic() - began < 9
    assert "killed after the grace: worker-0" in out
    assert run.verdict()["clean"]


def test_an_orderly_end_goes_from_the_client_to_the_router_the_workers_and_the_exporters(start: Start) -> None:
    router = server("router", PUBLIC, (f"forward=http://{HEAD.host}:6100",), kind="router")
    exporter = shell("exporter", "exec sleep 60", kind="service", phase="infra", tier=3, critical="never")
    made = _routed(router, server("agg-0", 6100))
    run = start(replace(made, processes=(exporter, *made.processes[:2], BENCH)))
    run.wait_for("process.start", process="bench")
    run.popen.send_signal(signal.SIGTERM)
    run.end()
    ends = [event["process"] for event in run.events() if event["event"] == "process.end"]
    assert ends == ["bench", "router", "agg-0", "exporter"]
