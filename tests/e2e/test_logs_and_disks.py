"""Logs of any size and bytes, and disks that are full or closed: a run ends in order and says why."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inferlane.planning import encode
from inferlane.running.processes import proc
from inferlane.testing.handmade import health, plan, process, served, shell
from inferlane.values import Gate, LogCheck, Plan

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]

_FLOOD = r"""
import os, sys, time
seconds, rate = float(sys.argv[1]), 17 << 20
line = b"INFO 2026-01-01 00:00:00 engine: step of no interest, 12 running, token " + os.environ["HF_TOKEN"].encode()
piece = (line + b"\n") * (rate // 50 // (len(line) + 1))
begin, number = time.monotonic(), 0
while (now := time.monotonic()) < begin + seconds:
    os.write(1, piece)
    number += 1
    if number == 25:
        os.write(1, b"added half\n")
    time.sleep(max(0.0, begin + number / 50 - time.monotonic()))
os.write(1, b"added all\n" + b"reason: no memory")
os.write(1, b"\nleft at %f\n" % time.time())
sys.exit(3)
"""


class Load:
    """CPU seconds and peak memory of one process, while it lives."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.begin = time.monotonic()
        self.seconds = 0.0
        self.share = 0.0
        self.peak = 0

    def look(self) -> None:
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{self._pid}/status").read_text()
        except OSError:
            return
        self.seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        self.share = self.seconds / (time.monotonic() - self.begin)
        self.peak = next((int(row.split()[1]) << 10 for row in status.splitlines() if row.startswith("VmHWM")), 0)


def test_a_worker_that_writes_a_gigabyte_a_minute_is_followed_cheaply_and_its_end_is_noticed(start: Start) -> None:
    check = LogCheck(process="agg-0", pattern=r"^added (\S+)$", values=("half", "all", "never"))
    gate = Gate(name="names", before="traffic", checks=(check,))
    fatal = (r"CRITICAL: \w+", r"(?i)device\s+lost")
    worker = process("agg-0", sys.executable, "-c", _FLOOD, "6", env={"HF_TOKEN": "hf_A1b2C3d4"}, fatal_log=fatal)
    run = start(plan(worker, gates=(gate,)))
    run.wait_for("process.start", process="agg-0")
    load = Load(run.supervisor())
    while run.popen.poll() is None:
        load.look()
        time.sleep(0.1)
    code, _ = run.end(60)
    log = (run.folder / "logs" / "agg-0.log").read_bytes()
    left = float(log.rsplit(b"left at ", 1)[1])
    noticed = next(item for item in run.events() if item["event"] == "process.end")
    assert code == 1
    assert b"A1b2C3d4" not in log
    assert len(log) > 20 << 20
    assert run.verdict()["cause"]["log_tail"][-2] == "reason: no memory"
    assert load.share < 0.7, load.__dict__  # on an idle machine it is a third of that
    assert load.peak < 150 << 20, load.__dict__
    assert _seconds(noticed["wall"]) - left < 3


def _seconds(wall: str) -> float:
    return datetime.datetime.fromisoformat(wall).timestamp()


def test_two_gibibytes_on_one_line_hide_no_reason_and_take_little_memory(start: Start) -> None:
    script = "import os; os.ftruncate(1, 2 << 30); os.write(1, b'\\nreason: no memory\\n\\xe2\\x82'); os._exit(1)"
    worker = process("agg-0", sys.executable, "-c", script, fatal_log=("CRITICAL",))
    run = start(plan(worker, gates=(health("agg-0"),)))
    run.until(lambda: run.has("process.start"), "a start")
    load = Load(run.supervisor())
    while run.popen.poll() is None:
        load.look()
        time.sleep(0.02)
    code, out = run.end(60)
    assert code == 1
    assert "reason: no memory" in out
    assert run.verdict()["cause"]["log_tail"][-1] == "reason: no memory"
    assert load.peak < 150 << 20


def test_a_log_that_is_cut_or_removed_by_somebody_does_not_end_the_run(start: Start) -> None:
    talk = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done"
    check = LogCheck(process="store", pattern=r"line 3\d")
    gate = Gate(name="store is up", before="traffic", checks=(check,))
    made = served(
        shell("store", f"{talk}; sleep 60", kind="service", phase="before_workers", tier=3),
        shell("noise", "echo one; sleep 60", kind="service", fatal_log=("CRITICAL",)),
        shell("bench", "sleep 1", kind="benchmark"),
    )
    run = start(plan(*made.processes, gates=(*made.gates, gate), endpoint=made.endpoint, upstreams=made.upstreams))
    log = run.until(lambda: next(run.outputs.glob("*/logs/store.log"), None), "a log")
    run.until(lambda: log.stat().st_size > 40, "some lines")
    os.truncate(log, 0)
    run.until(lambda: next(run.outputs.glob("*/logs/noise.log"), None), "a log").unlink()
    code, out = run.end(30)
    assert code == 0, out
    assert "somebody removed" in out


# -- disks ---------------------------------------------------------------------------------------------------------


@dataclass
class Ended:
    """A run on a small disk of its own. ``kept``: a copy of what was on it."""

    code: int
    out: str
    kept: Path

    @property
    def folder(self) -> Path:
        (found,) = (path for path in self.kept.iterdir() if path.is_dir() and (path / "logs").is_dir())
        return found

    def verdict(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "run.json").read_bytes())
        return document


def _may_mount() -> str:
    flags = "-m" if os.getuid() == 0 else "-rm"
    done = subprocess.run(["unshare", flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    return flags if done.returncode == 0 else ""


@pytest.fixture
def on_small_disk(tmp_path: Path) -> Callable[..., Ended]:
    """Runs a plan on a tmpfs of ``size`` MiB, after ``before`` (shell text) was run on it."""
    try:
        flags = _may_mount()
    except OSError:
        flags = ""
    if not flags:
        pytest.skip("this kernel does not let us mount a disk of our own (unshare -m, mount -t tmpfs)")

    def run(made: Plan, before: str = "true", size: int = 8, seconds: float = 60) -> Ended:
        disk, kept, file = tmp_path / "disk", tmp_path / "kept", tmp_path / "plan.json"
        disk.mkdir()
        file.write_bytes(encode(made))
        script = f"""
            mount -t tmpfs -o size={size}m tmpfs {disk} || exit 99
            cd {disk} && ({before}) && cd {tmp_path}
            {sys.executable} -m inferlane.testing.run_plan_file {file} {disk} 3
            code=$?
            cp -a {disk} {kept}
            exit $code
        """
        argv = ["unshare", flags, "--propagation", "private", "sh", "-c", script]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False)
        assert [pid for pid in proc.descendants(os.getpid()) if "run_plan_file" in proc.command_of(pid)] == []
        return Ended(done.returncode, done.stdout + done.stderr, kept)

    return run


def test_a_disk_that_is_full_before_the_start_is_told_in_one_line(on_small_disk: Callable[..., Ended]) -> None:
    done = on_small_disk(served(shell("bench", "true", kind="benchmark")), "head -c 9m /dev/zero > fill 2>&1; true")
    assert done.code == 1
    assert "No space left on device; make room there, or choose another folder with -o" in done.out
    assert "Traceback" not in done.out
    assert "phase workers" not in done.out


def test_a_disk_without_room_for_names_is_told_in_one_line(on_small_disk: Callable[..., Ended]) -> None:
    fill = "mount -o remount,nr_inodes=10 . && for i in 1 2 3 4 5 6 7 8 9 10 11; do : > $i; done 2>/dev/null; true"
    done = on_small_disk(served(shell("bench", "true", kind="benchmark")), fill)
    assert done.code == 1
    assert "No space left on device; choose another folder with -o" in done.out


def test_a_folder_that_cannot_be_written_is_told_in_one_line(on_small_disk: Callable[..., Ended]) -> None:
    done = on_small_disk(served(shell("bench", "true", kind="benchmark")), "mount -o remount,ro .")
    assert done.code == 1
    assert "Read-only file system; choose another folder with -o" in done.out


_FILLS = "head -c 20m /dev/zero | tr '\\0' x; "


def test_a_log_that_fills_the_disk_ends_the_run_in_order_with_a_verdict(on_small_disk: Callable[..., Ended]) -> None:
    filler = shell("store", f"sleep 1; {_FILLS} sleep 60", kind="service", phase="router")
    wait = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; echo more >> results/late || exit 0; done"
    bench = shell("bench", f'cd "$INFERLANE_RUN_DIR"; {wait}', kind="benchmark")
    done = on_small_disk(served(filler, bench))
    verdict = done.verdict()
    assert done.code == 1
    assert (verdict["verdict"], verdict["cause"]["kind"], verdict["clean"]) == ("failed", "disk", True)
    assert "is full (0.0 MiB free); logs and results may be cut; make room there, or choose another" in done.out
    assert {item["process"]: item["state"] for item in verdict["processes"]}["worker-0"] == "stopped"
    events = [json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "run.end"


def test_a_worker_that_dies_of_a_full_disk_is_the_cause_and_the_disk_is_told(
    on_small_disk: Callable[..., Ended],
) -> None:
    worker = shell("agg-0", "echo some words; " + _FILLS.replace("; ", " || exit 5; ") + "exit 6")
    done = on_small_disk(plan(worker, gates=(health("agg-0"),)))
    assert done.code == 1
    assert done.verdict()["cause"]["process"] == "agg-0"
    assert "warning: the disk of" in done.out
    assert any("is full" in line for line in done.verdict()["warnings"])


def test_what_was_finished_before_the_disk_was_full_is_kept(on_small_disk: Callable[..., Ended]) -> None:
    script = 'cd "$INFERLANE_RUN_DIR/results"; echo 42 > point-1; head -c 20m /dev/zero > point-2; exit 7'
    done = on_small_disk(served(shell("bench", script, kind="benchmark")))
    assert done.code == 1
    assert (done.folder / "results" / "point-1").read_text() == "42\n"
    assert done.verdict()["cause"]["exit_code"] == 7
    assert done.verdict()["clean"]


def test_a_run_whose_folder_is_removed_ends_in_order_and_is_no_success(on_small_disk: Callable[..., Ended]) -> None:
    done = on_small_disk(served(shell("bench", 'rm -rf "$INFERLANE_RUN_DIR"; exit 0', kind="benchmark")))
    assert done.code == 1
    assert "was removed during the run; its logs and results are gone" in done.out
    assert "everything is gone" in done.out
    assert "Traceback" not in done.out


def test_little_room_is_told_with_the_biggest_log(on_small_disk: Callable[..., Ended]) -> None:
    done = on_small_disk(served(shell("bench", "sleep 0.5", kind="benchmark")), size=64)
    assert done.code == 0, done.out
    assert "MiB free for" in done.out
