"""The folder of a run, and finding it again."""

from __future__ import annotations

import datetime
import errno
import os
import stat
from pathlib import Path

import msgspec
import pytest

from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder import directory
from inferlane.running.folder.directory import (
    RunDirectory,
    all_runs,
    create,
    find,
    new_id,
    record_owner,
    write_files,
    write_orders,
)
from inferlane.running.folder.events import EventLog, read_events
from inferlane.running.folder.secrets import Redactor
from inferlane.running.folder.states import state_of
from inferlane.testing.handmade import plan, shell
from inferlane.values import File


def _run(outputs: Path, name: str) -> RunDirectory:
    run = RunDirectory(outputs / name)
    run.path.mkdir(parents=True)
    run.write("run.json", b'{"verdict": "success"}')
    return run


def test_an_id_is_name_utc_time_and_four_digits() -> None:
    now = datetime.datetime(2026, 1, 2, 5, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert new_id("my run/1", now, "beef") == "my-run-1-20260102T030405Z-beef"


def test_a_run_folder_is_private(tmp_path: Path) -> None:
    run = create(tmp_path / "out", "r")
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in (run.path, run.logs, run.results))
    run.write("plan.json", b"{}")
    assert stat.S_IMODE((run.path / "plan.json").stat().st_mode) == 0o600


def test_an_output_folder_with_odd_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFault, match="-o"):
        create(tmp_path / 'a"b', "r")


def test_files_of_processes_are_for_their_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    run = create(tmp_path, "r")
    files = (File(name="sub/deep/a.json", text="{}"), File(name="key", text="k", secret=True))
    before = os.umask(0)
    try:
        write_files(run, plan(shell("w", "true", files=files)))
        write_orders(run, {"w": b"{}"})
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in run.path.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert (run.files / "w" / "sub" / "deep" / "a.json").read_text() == "{}"
    assert (run.twins / "w.json").read_bytes() == b"{}"


def test_a_file_outside_of_the_run_folder_is_refused(tmp_path: Path) -> None:
    run = create(tmp_path, "r")
    with pytest.raises(RunFault, match="outside"):
        write_files(run, plan(shell("w", "true", files=(File(name="../../../x", text=""),))))


def test_the_latest_run_is_the_one_with_the_latest_time_in_its_id(tmp_path: Path) -> None:
    late = _run(tmp_path, "a-20260102T030405Z-0000")
    _run(tmp_path, "b-20260101T030405Z-0000")
    (tmp_path / "something-else").mkdir()
    assert find(None, tmp_path) == late
    assert len(all_runs(tmp_path)) == 2


def test_a_run_is_found_by_path_by_id_and_by_the_start_of_one(tmp_path: Path) -> None:
    run = _run(tmp_path, "a-20260102T030405Z-0000")
    assert find(str(run.path), Path("/nowhere")) == find(run.id, tmp_path) == find("a-2026", tmp_path) == run


def test_an_unknown_run_and_a_doubtful_one_are_refused(tmp_path: Path) -> None:
    _run(tmp_path, "a-20260102T030405Z-0000")
    _run(tmp_path, "a-20260102T030405Z-0001")
    with pytest.raises(UsageFault, match="may be any of"):
        find("a-", tmp_path)
    with pytest.raises(UsageFault, match="inferlane status"):
        find("zzz", tmp_path)


def test_a_run_whose_guardian_is_dead_is_lost_and_one_that_lives_is_running(tmp_path: Path) -> None:
    run, scratch = create(tmp_path, "r"), tmp_path / "il-scratch"
    scratch.mkdir()
    record_owner(run, os.getpid(), scratch)
    assert state_of(run).word == "running"
    owner = msgspec.json.decode((run.path / "owner.json").read_bytes())
    run.write("owner.json", msgspec.json.encode({**owner, "start": 1, "supervisor": None}))
    assert state_of(run).word == "lost"
    run.write("owner.json", msgspec.json.encode({**owner, "host": "elsewhere"}))
    assert state_of(run).word == "unknown"


def test_a_lost_run_is_not_ready_though_it_once_was(tmp_path: Path) -> None:
    run, scratch = create(tmp_path, "r"), tmp_path / "il-scratch"
    scratch.mkdir()
    record_owner(run, os.getpid(), scratch)
    owner = msgspec.json.decode((run.path / "owner.json").read_bytes())
    run.write("owner.json", msgspec.json.encode({**owner, "start": 1, "supervisor": None}))
    run.write("events.jsonl", b'{"event": "run.ready"}\n')
    state = state_of(run)
    assert (state.word, state.ready) == ("lost", False)


def test_a_full_disk_does_not_end_a_run_by_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "chmod", lambda path, mode: None)  # the device is everybody's
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("a", buffering=1) as full:
        full.write("so it is full\n")
    with EventLog(Path("/dev/full"), Redactor([])) as events:
        events.write("run.start")
        events.write("run.end")


def test_events_are_read_past_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, Redactor([{"A_KEY": "value"}])) as log:
        log.write("process.start", process="w", argv=("x", "value"))
    with path.open("a") as more:
        more.write('{"event": "proc')
    (event,) = read_events(path)
    assert (event["process"], event["argv"]) == ("w", ["x", "***"])
    assert event["wall"].endswith("+00:00")


def test_a_scratch_folder_without_room_is_named_and_not_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, write = create(tmp_path, "r"), directory.write_whole

    def full(path: Path, content: bytes) -> None:
        if path.parent.name == "scratch":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    monkeypatch.setattr(directory, "write_whole", full)
    with pytest.raises(RunFault, match=r"cannot write to .*scratch: No space left on device; make room in"):
        record_owner(run, os.getpid(), tmp_path / "scratch")


def test_a_folder_of_another_user_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "r-20261201T000000Z-0001"
    ours = tmp_path / "r-20261201T000000Z-0002"
    for folder in (theirs, ours):
        folder.mkdir()
        (folder / "run.json").write_text("{}")
    real = os.stat

    def stat_of(path: os.PathLike[str] | str, *args: object, **options: bool) -> os.stat_result:
        if isinstance(path, Path | str) and Path(path).parent == theirs:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stat_of)
    assert [run.path for run in all_runs(tmp_path)] == [ours]
