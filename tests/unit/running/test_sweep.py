"""The last look: what cannot die is said, and what must not be touched is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.running.leftovers import shm, sweep
from inferlane.running.processes import proc, tree


def test_a_process_that_even_kill_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(proc, "descendants", lambda pid, keep=frozenset(): [999_999_999])
    monkeypatch.setattr(proc, "stat", lambda pid: proc.Stat("D", os.getpid(), 999_999_999, 999_999_999, 1))
    monkeypatch.setattr(proc, "command_of", lambda pid: "driver-bound engine")
    monkeypatch.setattr(proc, "send", lambda pid, number: sent.append((pid, number)))
    swept = sweep.sweep(seconds=0.2)
    assert swept.left == ("999999999 driver-bound engine",)
    assert (999_999_999, 9) in sent
    assert (-999_999_999, 9) in sent


def test_children_that_were_there_before_are_kept() -> None:
    script = (
        "import os, subprocess\nfrom inferlane.running.processes import proc\n"
        "from inferlane.running.leftovers.sweep import sweep\n"
        "proc.become_subreaper()\nold = subprocess.Popen(['sleep', '30'])\nkeep = frozenset([old.pid])\n"
        "subprocess.Popen(['sleep', '31'], start_new_session=True)\nswept = sweep(keep)\n"
        "print(len(swept.killed), old.poll(), swept.left)\nold.kill()\nold.wait()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "1 None ()", done.stderr


def test_a_shortage_of_ours_is_not_taken_for_an_absent_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def starved(path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Path, "read_bytes", starved)
    with pytest.raises(OSError, match="Too many open files"):
        proc.stat(os.getpid())


def _scratch(base: Path, **record: object) -> Path:
    folder = base / f"{sweep.SCRATCH_PREFIX}test"
    folder.mkdir()
    owner = {**sweep.owner_record(os.getpid()), "start": 1, **record}
    (folder / sweep.OWNER_FILE).write_text(json.dumps(owner))
    return folder


def test_what_a_run_of_another_container_has_written_down_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "scratch_base", lambda: tmp_path)
    folder = _scratch(tmp_path, pids="pid:[1]")
    with subprocess.Popen(["sleep", "30"]) as other:
        (folder / tree.RECORD).write_text(f"{other.pid} {proc.start_time(other.pid)}\n")
        swept = sweep.sweep_dead_runs()
        assert (other.poll(), folder.exists()) == (None, True)
        other.kill()
    assert swept.killed == ()


def test_a_number_that_is_used_again_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "scratch_base", lambda: tmp_path)
    folder = _scratch(tmp_path)
    with subprocess.Popen(["sleep", "30"]) as other:
        (folder / tree.RECORD).write_text(f"{other.pid} 1\nhalf a li")
        sweep.sweep_dead_runs()
        assert (other.poll(), folder.exists()) == (None, False)
        other.kill()


def test_memory_of_another_boot_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "scratch_base", lambda: tmp_path)
    kept = tmp_path / "kept"
    kept.write_bytes(b"x")
    status = kept.stat()
    folder = _scratch(tmp_path, boot="another")
    shm.append(folder / shm.RECORD, [str(kept), status.st_dev, status.st_ino, status.st_uid])
    sweep.sweep_dead_runs()
    assert (kept.exists(), folder.exists()) == (True, False)


def test_what_a_dead_run_has_written_down_is_ended_removed_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "scratch_base", lambda: tmp_path)
    segment = tmp_path / "segment"
    segment.write_bytes(b"x")
    status = segment.stat()
    folder = _scratch(tmp_path)
    shm.append(folder / shm.RECORD, [str(segment), status.st_dev, status.st_ino, status.st_uid])
    with subprocess.Popen(["sleep", "30"], env={}) as stray:
        (folder / tree.RECORD).write_text(f"{stray.pid} {proc.start_time(stray.pid)}\n")
        swept = sweep.sweep_dead_runs()
        assert stray.wait(10) == -9
    assert f"{stray.pid} sleep 30" in swept.killed
    assert swept.memory == (f"{segment} (1 bytes)",)
    assert not folder.exists()
