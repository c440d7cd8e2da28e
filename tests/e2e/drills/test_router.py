"""Routers that fail, and routers that answer what nobody should send."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.handmade import HEAD, PUBLIC, health, plan, process, server, shell, upstream
from inferlane.testing.runs import Running
from inferlane.values import Plan, PortBlock

pytestmark = pytest.mark.e2e

Start = Callable[..., Running]
Ends = Callable[..., tuple[dict[str, Any], str]]
BENCH = shell("bench", "exec sleep 60", kind="benchmark")


def routed(router: Any, *more: Any, **fields: Any) -> Plan:
    """One worker behind ``router``."""
    defaults: dict[str, Any] = {
        "gates": (health("agg-0", before="router"), health("router", PUBLIC)),
        "endpoint": f"http://{HEAD.host}:{PUBLIC}",
        "upstreams": (upstream("agg-0"),),
        "probe_timeout_s": 1.0,
    }
    return plan(server("agg-0"), router, *more, **{**defaults, **fields})


def garbage(*words: str) -> Any:
    argv = (sys.executable, "-m", "inferlane.testing.garbage_server", HEAD.bind, str(PUBLIC), *words)
    return process("router", *argv, kind="router", ports={"http": PortBlock(first=PUBLIC)})


def good() -> Any:
    return server("router", PUBLIC, (f"forward=http://{HEAD.host}:6100", "on_usr1=4"), kind="router")


def test_a_router_that_fails_to_start_is_the_cause_with_its_words(start: Start, ends: Ends) -> None:
    run = start(routed(shell("router", "echo no such policy; exit 2", kind="router"), start_timeout_s=600))
    document, _ = ends(run, "failed", "exit", "router", "no such policy")
    assert document["cause"]["exit_code"] == 2
    assert {item["process"]: item["state"] for item in document["processes"]} == {"agg-0": "stopped", "router": "ended"}


def test_a_router_that_dies_in_traffic_is_the_cause_with_its_last_words(start: Start, ends: Ends) -> None:
    run = start(routed(good(), BENCH))
    run.wait_for("process.start", process="bench")
    os.kill(run.pid("router"), signal.SIGUSR1)
    document, _ = ends(run, "failed", "exit", "router", "last words: giving up")
    assert document["cause"]["exit_code"] == 4


UNHEALTHY = {
    "not_http": "not HTTP",
    "endless_headers": "too many headers",
    "slowloris": "nothing within",
    "redirect": "HTTP 302",
    "mute": "nothing within",
}


@pytest.mark.parametrize("kind", UNHEALTHY)
def test_a_router_whose_health_is_garbage_is_not_ready_and_says_what_it_was(
    start: Start, ends: Ends, kind: str
) -> None:
    run = start(routed(garbage(kind), BENCH, start_timeout_s=2), grace=1)
    ends(run, "not_ready", "deadline", "router", UNHEALTHY[kind])
    assert not run.has("process.start", process="bench")


@pytest.mark.parametrize("kind", ["html", "zipped", "huge_body", "endless_chunks", "nothing"])
def test_a_router_that_is_healthy_and_completes_with_garbage_gets_no_load(start: Start, ends: Ends, kind: str) -> None:
    run = start(routed(garbage(kind, "/health"), BENCH, start_timeout_s=3), grace=1)
    run.wait_for("process.start", process="router")
    peak = 0
    status = Path(f"/proc/{run.supervisor()}/status")
    while run.popen.poll() is None and not run.has("teardown.start"):
        with contextlib.suppress(OSError):  # it has just ended
            lines = status.read_text().splitlines()
            peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))])
        time.sleep(0.05)
    ends(run, "not_ready", "deadline", "agg-0", "generation through router failed", "not served by agg-0")
    assert not run.has("process.start", process="bench")
    assert 0 < peak < 250 * 1024, f"{peak} KiB"
