"""Workers that fail in every way and at every moment."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.handmade import HEAD, PUBLIC, health, plan, process, served, server, shell
from inferlane.testing.runs import Running
from inferlane.values import Gate, LogCheck, Plan

pytestmark = pytest.mark.e2e

Start = Callable[..., Running]
Ends = Callable[..., tuple[dict[str, Any], str]]
BENCH = shell("bench", "exec sleep 60", kind="benchmark")


def loading(*others: Any, **fields: Any) -> Plan:
    """A worker that loads for long, and others."""
    slow = server("slow", 6100, ("health=503",))
    return plan(slow, *others, **{"gates": (health("slow"),), "start_timeout_s": 600, **fields})


def test_a_worker_that_crashes_while_others_load_ends_the_run_at_once(start: Start, ends: Ends) -> None:
    run = start(loading(shell("decode-0", "echo loading; sleep 0.5; echo out of memory; exit 1")))
    document, _ = ends(run, "failed", "exit", "decode-0", "out of memory")
    assert document["cause"]["exit_code"] == 1
    assert {item["process"]: item["state"] for item in document["processes"]} == {
        "slow": "stopped",
        "decode-0": "ended",
    }


def test_a_worker_that_ends_well_before_it_served_is_a_failure(start: Start, ends: Ends) -> None:
    document, _ = ends(start(loading(shell("decode-0", "echo all done"))), "failed", "exit", "decode-0", "all done")
    assert document["cause"]["exit_code"] == 0


def test_a_worker_that_is_killed_while_it_loads_is_told_by_its_signal(start: Start, ends: Ends) -> None:
    run = start(loading())
    run.wait_for("process.start", process="slow")
    run.until(lambda: "serving" in run.log("slow"), "a server")
    os.kill(run.pid("slow"), signal.SIGKILL)
    document, _ = ends(run, "failed", "exit", "slow", "signal 9 (SIGKILL)", "serving on")
    assert document["cause"]["signal"] == 9


@pytest.mark.parametrize("options", [("mute=1",), ("load=60",), ("health=503",)], ids=lambda options: options[0])
def test_a_worker_that_hangs_before_it_is_ready_ends_the_run_at_the_deadline(
    start: Start, ends: Ends, options: tuple[str, ...]
) -> None:
    made = served(options=options, start_timeout_s=2, probe_timeout_s=0.5)
    document, _ = ends(start(made, grace=1), "not_ready", "deadline", "worker-0", "gate 'worker-0 is healthy'")
    assert document["cause"]["log_tail"]


def test_a_worker_that_is_stopped_before_it_is_ready_ends_the_run_at_the_deadline(
    start: Start, ends: Ends, tmp_path: Path
) -> None:
    options = ("health=503", f"on_term={tmp_path / 'flushed'}")
    run = start(served(options=options, start_timeout_s=3, probe_timeout_s=0.5), grace=0.5)
    run.until(lambda: "serving" in run.log("worker-0"), "a server")
    os.kill(run.pid("worker-0"), signal.SIGSTOP)
    document, _ = ends(run, "not_ready", "deadline", "worker-0")
    assert document["processes"][0]["state"] == "stopped"  # it was woken to hear that it shall end
    assert (tmp_path / "flushed").exists()


def test_of_two_workers_that_load_the_one_that_hangs_is_named(start: Start, ends: Ends) -> None:
    gates = (health("worker-0", PUBLIC), health("worker-1", 6101))
    made = served(server("worker-1", 6101, ("mute=1",)), gates=gates, start_timeout_s=4, probe_timeout_s=0.5)
    _, out = ends(start(made, grace=1), "not_ready", "deadline", "worker-1")
    assert "gate worker-0 is healthy: holds" in out


def test_a_worker_that_was_healthy_and_dies_is_the_cause_with_its_last_words(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_usr1=7",)))
    run.wait_for("run.ready")
    os.kill(run.pid("worker-0"), signal.SIGUSR1)
    document, _ = ends(run, "failed", "exit", "worker-0", "last words: giving up", "exit code 7")
    assert document["cause"]["exit_code"] == 7


def test_a_worker_that_was_healthy_and_ends_well_is_a_failure_too(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_usr1=0",)))
    run.wait_for("process.start", process="bench")
    os.kill(run.pid("worker-0"), signal.SIGUSR1)
    ends(run, "failed", "exit", "worker-0", "last words: giving up", "exit code 0")


def test_a_second_worker_that_dies_in_traffic_is_named_though_the_client_fails_first(start: Start, ends: Ends) -> None:
    client = shell("bench", "while kill -0 $(cat pid); do sleep 0.01; done; exit 9", kind="benchmark")
    script = "echo $$ > pid; echo ready; sleep 0.7; echo device lost; exit 5"
    run = start(served(shell("decode-0", script), client, gates=(health("worker-0", PUBLIC),)), env={})
    document, _ = ends(run, "failed", "exit", "decode-0", "device lost")
    assert document["cause"]["exit_code"] == 5


def test_a_worker_that_detaches_into_a_second_fork_is_a_worker_that_ended(start: Start, ends: Ends) -> None:
    detach = "echo going away; (setsid sh -c 'exec sleep 987' <&- >&- 2>&- &) & exit 0"
    document, _ = ends(start(loading(shell("decode-0", detach))), "failed", "exit", "decode-0", "going away")
    assert any("sleep 987" in item for item in document["swept"])


def test_a_detached_child_that_emptied_its_environment_is_ended_too(start: Start, ends: Ends) -> None:
    hide = "(env -i setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' >/dev/null 2>&1 &) ; exec sleep 300"
    run = start(served(shell("decode-0", hide), shell("bench", "sleep 0.2", kind="benchmark")))
    document, out = ends(run, "success")
    assert any("sleep 300" in item for item in document["swept"])
    assert "stray processes ended" in out


@pytest.mark.parametrize("killed", [("guardian",), ("supervisor",)], ids=lambda killed: killed[0])
def test_a_hidden_child_does_not_outlive_one_of_the_two_that_watch(start: Start, killed: tuple[str, ...]) -> None:
    hide = "(env -i setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' >/dev/null 2>&1 &) ; exec sleep 300"
    run = start(served(shell("decode-0", hide), BENCH))
    run.wait_for("run.ready")
    run.kill(*killed)
    run.end(20)  # the supervisor holds this pipe too: both are gone now
    assert run.verdict()["clean"]


def test_a_worker_that_ignores_term_does_not_change_a_success(start: Start, ends: Ends) -> None:
    run = start(served(shell("bench", "true", kind="benchmark"), options=("on_term=ignore",)), grace=1)
    document, out = ends(run, "success")
    assert {item["process"]: item["state"] for item in document["processes"]}["worker-0"] == "killed"
    assert "killed after the grace: worker-0" in out


def test_a_worker_that_dies_in_the_teardown_does_not_change_the_verdict(start: Start, ends: Ends) -> None:
    stubborn = shell("bench", "trap '' TERM; while :; do sleep 0.2; done", kind="benchmark")
    run = start(served(stubborn, options=("on_usr1=3",)), grace=2)
    run.wait_for("process.start", process="bench")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    os.kill(run.pid("worker-0"), signal.SIGUSR1)
    ends(run, "interrupted", "signal")


def test_a_log_that_is_no_text_shows_its_reason_and_no_control_codes(start: Start, ends: Ends) -> None:
    script = r"head -c 200000 /dev/urandom; printf '\n\342\050\241\033]0;x\007\n reason: no memory\n\342\202'; exit 1"
    _, out = ends(start(plan(shell("agg-0", script))), "failed", "exit", "agg-0", "reason: no memory")
    assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in out)


def test_a_program_that_vanishes_after_the_check_is_the_cause(start: Start, ends: Ends, tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    remover = shell("store", f"rm {program}; echo up; exec sleep 60", kind="service", phase="before_workers", tier=3)
    gate = Gate(name="store", before="workers", checks=(LogCheck(process="store", pattern="up"),))
    run = start(plan(remover, process("agg-0", str(program)), gates=(gate,)))
    ends(run, "failed", "start", "agg-0", f"cannot start '{program}'")


def test_a_port_of_a_worker_that_is_taken_is_refused_before_anything_starts(start: Start, ends: Ends) -> None:
    with socket.socket() as holder:
        holder.bind(("", 0))
        holder.listen()
        port = holder.getsockname()[1]
        run = start(plan(server("agg-0", port), gates=(health("agg-0", port),)))
        document, out = ends(run, "failed", "start")
    assert f"agg-0 wants port {port} (http)" in out
    assert document["processes"] == []


def test_a_port_that_is_taken_after_the_check_is_the_workers_own_words(start: Start, ends: Ends) -> None:
    thief = server("thief", 6100, kind="service", phase="before_workers", tier=3)
    made = plan(thief, server("agg-0", 6100), gates=(health("thief", before="workers"), health("agg-0")), nodes=(HEAD,))
    document, _ = ends(start(made), "failed", "exit", "agg-0", "Address already in use")
    assert document["cause"]["exit_code"] == 1
