"""Every example, from its file to a result, as a user calls it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.folder.events import read_events

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

needs_router = pytest.mark.skipif(
    importlib.util.find_spec("sglang_router") is None,
    reason="the real router is not installed; pip install -r requirements-real.txt",
)


def inferlane(folder: Path, *arguments: str, seconds: float = 120) -> tuple[int, dict[str, Any], str]:
    """Exit status, verdict and standard error of one command with ``--json``."""
    command = [sys.executable, "-m", "inferlane", *arguments, "--json", "-o", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


def the_run(folder: Path) -> Path:
    (run,) = folder.iterdir()
    return run


def test_the_quickstart_runs_to_a_table_and_leaves_nothing(tmp_path: Path) -> None:
    code, verdict, _ = inferlane(tmp_path, "run", str(EXAMPLES / "quickstart.yaml"))
    assert (code, verdict["verdict"], verdict["clean"]) == (0, "success", True)
    assert [row["ok"] for row in verdict["summary"]["rows"]] == [40, 40]
    assert set(verdict["served"]) == {"prefill-0", "prefill-1", "decode-0"}
    assert all(verdict["served"].values())


def test_the_table_of_results_is_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inferlane", "run", str(EXAMPLES / "quickstart.yaml"), "-o", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    head, *rows = [line for line in done.stdout.splitlines() if line.strip().startswith(("concurrency ", "2 ", "4 "))]
    assert head.split()[:5] == ["concurrency", "requests", "ok", "errors", "cancelled"]
    assert [row.split()[:3] for row in rows] == [["2", "40", "40"], ["4", "40", "40"]]


def test_the_direct_example_serves_sixteen_of_sixteen_without_a_router(tmp_path: Path) -> None:
    code, verdict, _ = inferlane(tmp_path, "rehearse", str(EXAMPLES / "sglang/mi300x-direct.yaml"))
    assert code == 0
    assert (verdict["summary"]["requests"], verdict["summary"].get("errors", 0)) == (16, 0)
    assert verdict["rehearsal"]["twins"] == ["agg-0"]


@needs_router
@pytest.mark.real_router
@pytest.mark.parametrize(
    ("recipe", "requests", "workers"),
    [
        ("mi355x-dsv4-1p1d.yaml", 190, {"prefill-0", "decode-0"}),
        ("mi355x-r1-2p1d.yaml", 80, {"prefill-0", "prefill-1", "decode-0"}),
        ("mi355x-r1-1p2d.yaml", 80, {"prefill-0", "decode-0", "decode-1"}),
        ("h100-1p1d.yaml", 90, {"prefill-0", "decode-0"}),
    ],
)
def test_disaggregated_examples_serve_every_request_through_the_real_router(
    tmp_path: Path, recipe: str, requests: int, workers: set[str]
) -> None:
    code, verdict, err = inferlane(tmp_path, "rehearse", str(EXAMPLES / "sglang" / recipe))
    assert code == 0, err
    assert verdict["summary"]["requests"] == requests
    assert all(row["ok"] == row["requests"] for row in verdict["summary"]["rows"])
    assert {name for name, count in verdict["served"].items() if count > 0} == workers
    assert "sglang-router" in verdict["rehearsal"]["real"]


@needs_router
@pytest.mark.real_router
def test_the_real_router_starts_only_after_every_worker_answered(tmp_path: Path) -> None:
    """One prefill worker loads slowly; the router must not start before it answers, and then knows both."""
    recipe = str(EXAMPLES / "sglang/mi355x-r1-2p1d.yaml")
    code, verdict, err = inferlane(tmp_path, "rehearse", recipe, "--fault", "prefill-1=slow@3")
    assert code == 0, err
    events = list(read_events(the_run(tmp_path) / "events.jsonl"))
    healthy = [e["t"] for e in events if e["event"] == "gate.open" and str(e["gate"]).endswith("is healthy")]
    started = {e["process"]: e["t"] for e in events if e["event"] == "process.start"}
    assert len(healthy) == 3
    assert started["sglang-router"] >= max(healthy) > 2.5
    assert verdict["served"]["prefill-1"] > 0


@needs_router
@pytest.mark.real_router
def test_a_worker_that_dies_during_the_benchmark_is_named_with_its_code(tmp_path: Path) -> None:
    recipe = str(EXAMPLES / "sglang/mi355x-r1-1p2d.yaml")
    code, verdict, _ = inferlane(tmp_path, "rehearse", recipe, "--fault", "decode-1=crash-on@12")
    assert (code, verdict["verdict"], verdict["clean"]) == (1, "failed", True)
    assert verdict["cause"]["process"] == "decode-1"
    assert verdict["cause"]["exit_code"] == 1


@needs_router
@pytest.mark.real_router
def test_generation_that_fails_behind_a_healthy_router_names_the_stage(tmp_path: Path) -> None:
    """Every health URL and the router's list are green, and no completion comes back: no load is sent."""
    recipe = str(EXAMPLES / "sglang/mi300x-direct.yaml")
    soon = ["--set", "health_check.max_attempts=4", "--set", "health_check.interval_seconds=1"]
    code, verdict, _ = inferlane(tmp_path, "rehearse", recipe, "--fault", "agg-0=error", *soon)
    assert code == 4
    assert "generation through" in verdict["cause"]["message"]
    assert "agg-0" in verdict["cause"]["message"]
    assert not list((the_run(tmp_path) / "results").rglob("*.json"))


def test_finished_points_are_kept_and_told_when_a_worker_dies_later(tmp_path: Path) -> None:
    levels = ["--set", "benchmark.concurrencies=1x2x4", "--set", "benchmark.requests=10", "--set", "frontend.port=8017"]
    recipe = str(EXAMPLES / "quickstart.yaml")
    code, verdict, _ = inferlane(tmp_path, "rehearse", recipe, "--fault", "decode-0=crash-on@25", *levels)
    assert code == 1
    assert verdict["cause"]["process"] == "decode-0"
    assert not verdict["summary"]["ok"]
    assert [row["ok"] for row in verdict["summary"]["rows"]][:1] == [10]
    assert "no result for concurrency 4" in verdict["summary"]["message"]


def test_an_unknown_engine_flag_ends_the_strict_twin_as_it_would_end_the_engine(tmp_path: Path) -> None:
    recipe = str(EXAMPLES / "sglang/mi300x-direct.yaml")
    edits = ["--set", "roles.agg.args.no-such-flag=1"]
    code, verdict, err = inferlane(tmp_path, "rehearse", recipe, *edits)
    assert code == 1
    assert "--no-such-flag is not a flag of python -m sglang.launch_server 0.5.23" in err
    assert (verdict["cause"]["process"], verdict["cause"]["exit_code"]) == ("agg-0", 2)


def test_a_taken_public_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    import socket

    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("0.0.0.0", 0))
        holder.listen()
        port = holder.getsockname()[1]
        edit = ["--set", f"frontend.port={port}"]
        code, verdict, err = inferlane(tmp_path, "run", str(EXAMPLES / "quickstart.yaml"), *edit)
    assert code == 1
    assert verdict["verdict"] == "refused"
    assert str(port) in err
    assert "the public port of the endpoint" in err


def test_a_port_that_another_program_holds_moves_only_the_block_that_wanted_it(tmp_path: Path) -> None:
    import socket

    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("0.0.0.0", 6155))
        holder.listen()
        edit = ["--set", "ports={'mock.http': 6155}", "--set", "benchmark.requests=4"]
        code, _, err = inferlane(tmp_path, "run", str(EXAMPLES / "quickstart.yaml"), *edit)
    assert code == 0, err
    plan = json.loads((the_run(tmp_path) / "plan.json").read_text())
    first = {p["name"]: p["ports"]["http"]["first"] for p in plan["processes"] if "ports" in p}
    assert (first["prefill-0"], first["mock"]) == (6156, 8000)
