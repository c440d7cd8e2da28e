"""A run on a real terminal: narrow, resized, put aside, paused, closed; and one whose words nobody reads."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inferlane.planning import encode
from inferlane.running.leftovers.sweep import carriers
from inferlane.running.processes import proc
from inferlane.testing.handmade import health, plan, served, server, shell
from inferlane.testing.terminal import Terminal
from inferlane.values import Plan

pytestmark = pytest.mark.e2e

BENCH = shell("bench", "sleep 60", kind="benchmark")
TALKER = shell("talker", "while :; do echo '加载模型权重 加载模型权重 加载模型权重'; sleep 0.2; done")


@contextmanager
def terminal(folder: Path, what: Plan, columns: int = 80, env: dict[str, str] | None = None) -> Iterator[Terminal]:
    """A run on a terminal; after it nothing of the run is left."""
    file = folder / "plan.json"
    file.write_bytes(encode(what))
    argv = (sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(folder / "out"), "5")
    with Terminal(argv, environment(env), columns) as opened:
        yield opened
    nothing_is_left(folder)


def environment(env: dict[str, str] | None = None) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    return {**plain, "TERM": "xterm-256color", **(env or {})}


def run_folder(folder: Path) -> Path:
    (found,) = (folder / "out").iterdir()
    return found


def verdict(folder: Path, seconds: float = 20) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while not (run_folder(folder) / "run.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    document: dict[str, Any] = json.loads((run_folder(folder) / "run.json").read_bytes())
    return document


def nothing_is_left(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while carriers(run_folder(folder).name):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_narrow_terminal_with_wide_characters_shows_one_row_for_each_process(tmp_path: Path) -> None:
    slow = served(TALKER, BENCH)
    with terminal(tmp_path, slow, columns=20) as opened:
        opened.until("talker")
        opened.read_for(4.5)  # several refreshes
        seen = opened.screen()
        assert sum(bool(re.match(r"(ready|starting|running) \d+s worker-0", line)) for line in seen) == 1, seen
        assert sum(bool(re.match(r"(ready|starting|running) \d+s talker", line)) for line in seen) == 1, seen
        opened.send("\x03")
        assert opened.end() == 130
        assert "everything is gone" in "".join(opened.screen()).replace("\n", "")


def test_a_terminal_that_is_resized_ends_with_a_clean_screen(tmp_path: Path) -> None:
    ends = served(TALKER, shell("bench", "sleep 6", kind="benchmark"))
    with terminal(tmp_path, ends, columns=100) as opened:
        for columns, rows in ((100, 30), (30, 10), (1, 2), (200, 50), (60, 24)):
            opened.resize(columns, rows)
            opened.read_for(1.2)
        assert opened.end() == 0
    assert verdict(tmp_path)["verdict"] == "success"


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"CI": "true"}])
def test_plain_lines_where_nothing_may_move(tmp_path: Path, env: dict[str, str]) -> None:
    ends = served(shell("bench", "sleep 1.5", kind="benchmark"))
    with terminal(tmp_path, ends, env=env) as opened:
        assert opened.end() == 0
    assert "\x1b" not in opened.raw
    assert "success (exit 0); everything is gone" in opened.raw


def test_at_ready_it_says_how_to_reach_the_run_and_the_line_works(tmp_path: Path) -> None:
    with terminal(tmp_path, served(BENCH), columns=300) as opened:
        opened.until("stop:    inferlane cancel")
        line = re.search(r"try it:  (curl .*?)\r?\n", opened.raw)
        assert line is not None
        assert f"follow:  inferlane logs {run_folder(tmp_path)} -f" in opened.raw
        if shutil.which("curl"):
            done = subprocess.run(shlex.split(line[1]), capture_output=True, env={"http_proxy": "http://127.0.0.1:9"})
            assert json.loads(done.stdout)["choices"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="job control needs a shell that has it")
def test_after_ctrl_z_the_run_goes_on_in_silence_and_fg_brings_it_back(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(encode(served(TALKER, BENCH)))
    words = (sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(tmp_path / "out"), "5")
    bash = shutil.which("bash")
    assert bash
    with Terminal((bash, "--norc", "--noprofile", "-i"), environment({"PS1": "$ "}), 200) as opened:
        opened.send(shlex.join(words) + "\n")
        opened.until("stop:    inferlane cancel")
        opened.until("talker")
        opened.send("\x1a")
        opened.until("Stopped")
        opened.read_for(1.5)
        assert opened.read_for(3) == ""
        events = (run_folder(tmp_path) / "events.jsonl").read_text()
        assert "teardown" not in events
        opened.send("fg\n")
        opened.until("talker")
        opened.send("\x03")
        opened.until("interrupted (exit 130); everything is gone")
        opened.send("echo status=$?; exit\n")
        opened.until("status=130")
        opened.end()
    nothing_is_left(tmp_path)


def test_a_closed_terminal_ends_the_run_in_order(tmp_path: Path) -> None:
    with terminal(tmp_path, served(TALKER, BENCH)) as opened:
        opened.until("talker")
        opened.until("ready:")
        opened.hang_up()
        assert opened.end() == 143
    found = verdict(tmp_path)
    assert (found["verdict"], found["exit_code"], found["clean"]) == ("terminated", 143, True)
    assert found["cause"]["message"] == "stopped by SIGHUP"


def test_a_paused_terminal_does_not_pause_the_supervisor(tmp_path: Path) -> None:
    noisy = served(TALKER, shell("late", "sleep 6; exit 7"), BENCH)
    with terminal(tmp_path, noisy) as opened:
        opened.until("ready:")
        opened.send("\x13")  # Ctrl-S
        found = verdict(tmp_path, 20)
        assert found["cause"]["exit_code"] == 7
        opened.send("\x11")  # Ctrl-Q
        opened.until("failed (exit 1); everything is gone")
        assert opened.end() == 1


def test_a_pipe_that_nobody_reads_does_not_stop_the_supervisor(tmp_path: Path) -> None:
    chatty = "printf 'x%.0s' $(seq 300)"
    many = [shell(f"w-{number}", f"{chatty}; sleep 60", critical="never") for number in range(30)]
    what = plan(server("worker-0", 6100), *many, gates=(health("nothing", 6999),), start_timeout_s=4)
    file = tmp_path / "plan.json"
    file.write_bytes(encode(what))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:  # full before it begins
        try:
            os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    words = (sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(tmp_path / "out"), "5")
    popen = subprocess.Popen(words, stdout=writer)
    os.close(writer)
    try:
        assert popen.wait(60) == 4
        assert verdict(tmp_path)["verdict"] == "not_ready"
        assert proc.descendants(popen.pid) == []
    finally:
        if popen.poll() is None:
            popen.send_signal(signal.SIGTERM)
            popen.wait(30)
        os.close(reader)
    nothing_is_left(tmp_path)


@pytest.mark.parametrize("where", [">/dev/full", ">/dev/full 2>&1", "| head -1"])
def test_a_verdict_does_not_depend_on_where_progress_goes(tmp_path: Path, where: str) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(encode(served(shell("bench", "sleep 0.5", kind="benchmark"))))
    words = (sys.executable, "-m", "inferlane.testing.run_plan_file", str(file), str(tmp_path / "out"), "5")
    line = f"{{ {shlex.join(words)}; echo status=$? >&3; }} {where}"
    done = subprocess.run(["sh", "-c", f"exec 3>&2; {line}"], capture_output=True, text=True, timeout=60, check=False)
    assert "status=0" in done.stderr
    assert "Traceback" not in done.stderr
    assert verdict(tmp_path)["verdict"] == "success"


@pytest.mark.parametrize(("words", "code"), [(">&-", 0), ("--json >/dev/full", 1), ("--json >&-", 1)])
def test_a_document_that_was_asked_for_and_cannot_be_had_is_exit_1_and_the_verdict_stays(
    tmp_path: Path, words: str, code: int
) -> None:
    recipe = Path(__file__).parents[2] / "examples/quickstart.yaml"
    run = (sys.executable, "-m", "inferlane", "run", str(recipe), "--set", "benchmark.requests=4")
    line = f"{shlex.join((*run, '-o', str(tmp_path / 'out')))} {words}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == code, done.stderr
    assert verdict(tmp_path)["verdict"] == "success"
    assert ("the verdict could not be written to stdout" in done.stderr) == bool(code)
