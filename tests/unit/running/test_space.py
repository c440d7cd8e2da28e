"""Room on the disk: told in time, kept for the verdict, and events that are whole or not there."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from inferlane.errors import RunFault
from inferlane.running.folder import space
from inferlane.running.folder.directory import RunDirectory, create
from inferlane.running.folder.events import EventLog, read_events
from inferlane.running.folder.secrets import Redactor
from inferlane.running.folder.space import SpaceWatch, release, reserve
from inferlane.running.folder.upkeep import Upkeep
from inferlane.running.outcome import Cause
from inferlane.running.settings import Ending
from inferlane.testing.handmade import plan, shell

GIB = 1 << 30


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return create(tmp_path, "demo")


def room(monkeypatch: pytest.MonkeyPatch, free: int, size: int = 100 * GIB, names: int = 1000) -> None:
    found = SimpleNamespace(f_bavail=free, f_frsize=1, f_blocks=size, f_files=1000, f_favail=names)
    monkeypatch.setattr(os, "statvfs", lambda path: found)


def test_little_room_is_told_once_with_the_biggest_log_and_again_after_there_was_enough(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_MINUTE_S", 0.0)
    run.log("agg-0").write_bytes(b"x" * (3 << 20))
    run.log("agg-1").write_bytes(b"x")
    said: list[str] = []
    watch = SpaceWatch(run, said.append)
    for free in (50 * GIB, GIB // 2, GIB // 4, 50 * GIB, GIB // 2):
        room(monkeypatch, free)
        watch.tick()
    assert len(said) == 2
    biggest = run.log("agg-0")
    assert said[0] == f"warning: only 512.0 MiB free for {run.path}; the biggest log is {biggest} with 3.0 MiB"


def test_one_percent_is_little_on_a_large_disk(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    room(monkeypatch, 5 * GIB, 1000 * GIB)
    SpaceWatch(run, said.append).tick()
    assert said == [f"warning: only 5.0 GiB free for {run.path}"]


def test_the_disk_is_asked_once_a_minute_only(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(space, "_room", asked.append)
    watch = SpaceWatch(run, print)
    for _ in range(5):
        watch.tick()
    assert len(asked) == 1


def test_a_disk_without_room_for_names_is_full(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 50 * GIB, names=0)
    assert "is full" in (SpaceWatch(run, print).full() or "")


def test_the_verdicts_room_is_taken_at_the_start_and_given_back(run: RunDirectory) -> None:
    reserve(run)
    (kept,) = [path for path in run.path.iterdir() if path.is_file()]
    assert kept.stat().st_size >= 128 << 10
    release(run)
    release(run)
    assert not kept.exists()


def test_no_room_for_the_verdict_is_told_before_anything_starts(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: RunDirectory, name: str, content: bytes) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(RunDirectory, "write", full)
    with pytest.raises(RunFault, match=r"cannot write to .*demo.*: Disk quota exceeded; make room there, or choose"):
        reserve(run)


def ending() -> Ending:
    return Ending("success", None, (), {}, None, {}, ())


def test_a_success_whose_record_is_not_whole_is_none(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    upkeep = Upkeep(plan(shell("w", "true")), run, (), print)
    room(monkeypatch, 50 * GIB)
    assert upkeep.judged(ending(), 0) == ending()
    lost = upkeep.judged(ending(), 3)
    assert lost.verdict == "failed"
    assert lost.cause == Cause(kind="disk", message=f"{run.path} could not take 3 events; was its disk full?")
    room(monkeypatch, 0)
    full = upkeep.judged(ending(), 0)
    assert full.cause is not None
    assert "is full (0.0 MiB free); logs and results may be cut; make room there" in full.cause.message


def test_another_cause_comes_before_the_disk(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 0)
    first = Ending("failed", Cause(kind="exit", message="first"), (), {}, None, {}, ())
    assert Upkeep(plan(shell("w", "true")), run, (), print).judged(first, 5) == first


@pytest.mark.parametrize("taken", [0, 7])
def test_an_event_is_there_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    write = os.write

    def full(handle: int, content: bytes) -> int:
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, content[:taken])

    with EventLog(tmp_path / "events.jsonl", Redactor()) as events:
        events.write("first")
        monkeypatch.setattr(os, "write", full)
        events.write("lost")
        monkeypatch.setattr(os, "write", write)
        events.write("last")
    assert [event["event"] for event in read_events(tmp_path / "events.jsonl")] == ["first", "last"]
    assert all(json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines())
    assert events.lost == 1
