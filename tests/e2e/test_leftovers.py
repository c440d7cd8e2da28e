"""What processes of a run leave behind is given back: memory, daemons, storms; and nothing of anybody else's."""

from __future__ import annotations

import json
import mmap
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.leftovers import shm, sysv
from inferlane.running.processes import proc, tree
from inferlane.testing.handmade import plan, process, served, shell
from inferlane.values import Plan, PlannedProcess

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
BENCH = shell("bench", "sleep 60", kind="benchmark")
QUICK = shell("bench", "true", kind="benchmark")


@pytest.fixture
def path() -> Iterator[Path]:
    """A name in shared memory that nobody has yet."""
    made = shm.FOLDER / f"odd name {secrets.token_hex(4)}\n(deleted)"
    yield made
    made.unlink(missing_ok=True)


def leaver(*what: str, **fields: Any) -> PlannedProcess:
    return process("leaver", sys.executable, "-m", "inferlane.testing.left_behind", *what, **fields)


def seen(run: Any, path: Path) -> None:
    """Return once the run has written down that it owns ``path``."""
    run.pid("leaver")
    scratch = Path(json.loads((run.folder / "owner.json").read_bytes())["scratch"])
    record = scratch / shm.RECORD
    run.until(
        lambda: (
            path.exists()
            and path.stat().st_size
            and path.stat().st_ino in {item.key.inode for item in shm.recorded(record)}
        ),
        "seen",
    )


def killed_worker(run: Any) -> None:
    os.kill(run.pid("leaver"), signal.SIGKILL)


@pytest.mark.parametrize("how", ["file", "closed"])
def test_a_mapped_file_of_a_killed_worker_is_removed_and_said(start: Start, path: Path, how: str) -> None:
    run = start(plan(leaver(how, str(path))))
    seen(run, path)
    killed_worker(run)
    code, out = run.end()
    assert code == 1
    assert not path.exists()
    assert "shared memory removed: /dev/shm/odd name" in out
    assert run.verdict()["memory"] == [f"{path} (1 MiB)"]
    assert run.verdict()["clean"]


@pytest.mark.parametrize("how", ["segment", "semaphore"])
def test_segments_and_semaphores_of_the_system_library_are_removed(start: Start, how: str) -> None:
    name = f"il_test_{secrets.token_hex(4)}"
    there = shm.FOLDER / (name if how == "segment" else f"sem.{name}")
    run = start(plan(leaver(how, name)))
    seen(run, there)
    killed_worker(run)
    run.end()
    assert not there.exists()
    assert run.verdict()["memory"][0].startswith(str(there))


def test_memory_of_others_and_of_before_stays(start: Start, path: Path) -> None:
    before = path.with_name(f"{path.name}.before")
    before.write_bytes(b"x")
    try:
        run = start(plan(leaver("file", str(before))))
        run.pid("leaver")
        path.write_bytes(b"x")  # a stranger's, made while the run goes on
        run.until(lambda: "made" in (run.folder / "logs/leaver.log").read_text(), "made")
        time.sleep(1)
        killed_worker(run)
        run.end()
        assert before.exists()
        assert path.exists()
        assert run.verdict()["memory"] == []
    finally:
        before.unlink()


def test_memory_that_somebody_else_has_taken_up_stays_and_is_said(start: Start, path: Path) -> None:
    run = start(plan(leaver("file", str(path))))
    seen(run, path)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        killed_worker(run)
        _, out = run.end()
        assert path.exists()
    assert f"held by {os.getpid()} " in out
    assert not run.verdict()["clean"]


@pytest.mark.parametrize("whom", ["supervisor", "guardian"])
def test_memory_is_removed_after_a_sigkill_of_either_guard(start: Start, path: Path, whom: str) -> None:
    run = start(plan(leaver("closed", str(path))))
    seen(run, path)
    run.kill(whom)
    run.end(20)
    run.until(lambda: (run.folder / "run.json").exists(), "verdict") if whom == "guardian" else None
    assert not path.exists()
    assert run.verdict()["memory"] == [f"{path} (1 MiB)"]


def test_memory_is_removed_by_the_next_run_after_a_sigkill_of_both(start: Start, path: Path) -> None:
    run = start(plan(leaver("file", str(path))))
    seen(run, path)
    run.kill("guardian", "supervisor")
    run.end(20)
    assert path.exists()
    start(served(QUICK)).end()  # by this run, or by any other on this machine that began since
    assert not path.exists()


def test_memory_that_was_held_for_a_moment_only_is_removed_too(start: Start, path: Path) -> None:
    code = "import os, sys, time; time.sleep(1); os.open(sys.argv[1], os.O_CREAT | os.O_RDWR); time.sleep(0.1); exit(3)"
    run = start(plan(process("leaver", sys.executable, "-c", code, str(path))))
    run.end()
    assert not path.exists()
    assert run.verdict()["memory"] == [f"{path} (0 bytes)"]


@pytest.mark.skipif(not sysv.TABLE.exists(), reason="this kernel keeps no System V segments")
def test_a_system_v_segment_of_a_killed_worker_is_removed(start: Start) -> None:
    run = start(plan(leaver("sysv")))
    run.pid("leaver")
    log = run.folder / "logs/leaver.log"
    found = run.until(lambda: log.exists() and re.search(r"segment (\d+)", log.read_text()), "segment")
    time.sleep(1.5)
    killed_worker(run)
    run.end()
    assert int(found[1]) not in sysv.table()
    assert run.verdict()["memory"] == [f"System V segment {found[1]} (1 MiB)"]


# -- processes -------------------------------------------------------------------------------------------------------

LEAVERS = [("daemon", "301"), ("storm", "60"), ("zombies", "50"), ("reaper",), ("nobody",)]


def made(*what: str) -> Plan:
    return served(leaver(*what), BENCH)


def ready(run: Any) -> list[int]:
    run.wait_for("process.start", process="bench")
    run.until(lambda: "made" in (run.folder / "logs/leaver.log").read_text(), "made")
    return proc.descendants(run.popen.pid)


@pytest.mark.parametrize("what", LEAVERS, ids=lambda what: what[0])
@pytest.mark.parametrize("end", ["Ctrl-C", "supervisor", "guardian", "normal"])
def test_no_process_escapes(start: Start, what: tuple[str, ...], end: str) -> None:
    run = start(made(*what) if end != "normal" else served(leaver(*what), shell("bench", "sleep 1", kind="benchmark")))
    below = ready(run)
    if end == "Ctrl-C":
        run.popen.send_signal(signal.SIGINT)
    elif end != "normal":
        run.kill(end)
    run.end(30)
    run.until(lambda: (run.folder / "run.json").exists(), "verdict") if end == "guardian" else None
    tree.wait_until_gone({pid: start for pid in below if (start := proc.start_time(pid)) is not None}, 10)
    assert [pid for pid in below if proc.start_time(pid) is not None] == []
    assert run.verdict()["clean"]


@pytest.mark.parametrize("what", [("daemon", "302"), ("reaper",), ("storm", "60")], ids=lambda what: what[0])
def test_the_next_run_ends_what_cleared_its_environment_before_a_sigkill_of_both(
    start: Start, what: tuple[str, ...]
) -> None:
    run = start(made(*what))
    ready(run)
    time.sleep(1.5)  # a look
    below = proc.descendants(run.popen.pid)
    run.kill("guardian", "supervisor")
    run.end(20)
    start(served(QUICK)).end()  # by this run, or by any other on this machine that began since
    assert [pid for pid in below if proc.start_time(pid) is not None] == []


def test_a_program_that_forks_faster_than_it_can_be_killed_loses(tmp_path: Path) -> None:
    code = "import os\nfor _ in range(3000):\n    if os.fork(): os._exit(0)\nos.execvp('sleep', ['sleep', '300'])"
    script = (
        "import subprocess, sys, time; from inferlane.running.processes import proc; "
        "from inferlane.running.leftovers.sweep import sweep\n"
        "proc.become_subreaper()\n"
        f"[subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True) for _ in range(4)]\n"
        "time.sleep(0.3); print(len(sweep().left)); import os; print(len(proc.descendants(os.getpid())))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0", "0"], done.stderr
