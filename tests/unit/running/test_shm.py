"""Shared memory is a run's by evidence: new, and held by a process of its tree."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inferlane.running.leftovers import shm
from inferlane.running.leftovers.newfiles import NewFiles
from inferlane.running.leftovers.shm import Key, MemoryWatch, Segment, listing, recorded, remove


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /dev/shm; the real one is full of other people's."""
    made = tmp_path / "shm"
    made.mkdir()
    monkeypatch.setattr(shm, "listing", lambda where=made: listing(where))
    return made


def _segment(path: Path) -> Segment:
    status = path.stat()
    return Segment(str(path), Key(status.st_dev, status.st_ino), status.st_uid)


def test_what_a_process_of_the_tree_maps_is_recorded_with_any_name(folder: Path, tmp_path: Path) -> None:
    watch = MemoryWatch(tmp_path / "record", lambda: [os.getpid()])
    path = folder / "a b\n(deleted) \udcff"
    path.write_bytes(b"x" * 4096)
    handle = os.open(path, os.O_RDWR)
    with mmap.mmap(handle, 4096):
        os.close(handle)
        watch.look()
    assert recorded(tmp_path / "record") == [_segment(path)]


def test_what_the_tree_never_held_and_what_was_there_before_are_nobodys(folder: Path, tmp_path: Path) -> None:
    before, strange = folder / "before", folder / "strange"
    before.write_bytes(b"x")
    watch = MemoryWatch(tmp_path / "record", lambda: [os.getpid()])
    strange.write_bytes(b"x")
    with before.open():
        watch.look()
    assert watch.segments == {}


def test_a_renamed_old_file_is_still_an_old_one(folder: Path, tmp_path: Path) -> None:
    (folder / "old").write_bytes(b"x")
    watch = MemoryWatch(tmp_path / "record", lambda: [os.getpid()])
    new = (folder / "old").rename(folder / "new")
    with new.open():
        watch.look()
    assert watch.segments == {}


def test_whom_nobody_of_ours_holds_is_asked_about_less_and_less(folder: Path, tmp_path: Path) -> None:
    walks: list[float] = []

    def tree() -> list[int]:
        walks.append(time.monotonic())
        return []

    watch = MemoryWatch(tmp_path / "record", tree)
    (folder / "strange").write_bytes(b"x")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        watch.look()
        time.sleep(0.01)
    assert 2 <= len(walks) <= 4


def test_ours_is_removed_under_the_name_that_it_has_by_now(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    ours = _segment(path)
    path.rename(tmp_path / "final")
    assert remove([ours]) == ([f"{tmp_path / 'final'} (1 bytes)"], [])


def test_a_file_that_took_the_place_of_ours_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    ours = _segment(path)
    (tmp_path / "y").write_bytes(b"y")
    (tmp_path / "y").replace(path)
    assert remove([ours]) == ([], [])
    assert path.read_bytes() == b"y"


def test_what_is_held_stays_and_its_holder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * (3 << 20))
    code = "import sys, time; f = open(sys.argv[1]); print('open', flush=True); time.sleep(30)"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        removed, left = remove([_segment(path)])
        holder.kill()
    assert removed == []
    assert left[0].startswith(f"shared memory {path} (3 MiB), held by {holder.pid} ")
    assert remove([_segment(path)]) == ([f"{path} (3 MiB)"], [])


def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    record = tmp_path / "record"
    shm.append(record, ["/dev/shm/x", 1, 2, 3])
    with record.open("a") as out:
        out.write('["/dev/shm/y", 1, 2')
    assert recorded(record) == [Segment("/dev/shm/x", Key(1, 2), 3)]


def test_a_machine_without_shared_memory_has_none(tmp_path: Path) -> None:
    assert listing(tmp_path / "missing") == {}


def test_new_files_wake_who_waits_and_silence_is_bounded(tmp_path: Path) -> None:
    async def wait() -> tuple[bool, bool, bool]:
        with contextlib.closing(NewFiles(tmp_path)) as new:
            before = await new.wait(0.01)
            (tmp_path / "x").write_bytes(b"")
            return before, await new.wait(5), await new.wait(0.01)

    assert asyncio.run(wait()) == (False, True, False)


def test_where_the_kernel_cannot_tell_of_new_files_waiting_still_ends(tmp_path: Path) -> None:
    async def wait() -> bool:
        with contextlib.closing(NewFiles(tmp_path / "missing")) as new:
            return await new.wait(0.01)

    assert asyncio.run(wait()) is False


@pytest.mark.parametrize(("size", "text"), [(12, "12 bytes"), (12 << 20, "12 MiB"), (3 << 29, "1.5 GiB")])
def test_sizes_are_said_in_the_unit_that_fits(size: int, text: str) -> None:
    assert shm.size_text(size) == text
