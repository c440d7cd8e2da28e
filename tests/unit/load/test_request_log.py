"""The request log on a disk that runs full: whole lines, a clear fault, and nothing after it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from inferlane.load import request_log
from inferlane.load.client import Outcome
from inferlane.load.prompts import Ask
from inferlane.load.request_log import RequestLog
from inferlane.load.results import Unwritable
from inferlane.load.spec import LoadSpec


@pytest.fixture
def log(tmp_path: Path) -> RequestLog:
    spec = LoadSpec(endpoint="http://x", model="m", results=str(tmp_path), isl=8, osl=4, concurrencies=(2,))
    return RequestLog(spec, 2)


def _add(log: RequestLog, index: int) -> None:
    log.add(Ask(index, "p", 8, 4), 0.0, Outcome(output_tokens=4))


def _room_for(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """The disk takes ``room`` more bytes: a short write first, as a real one does, then none."""
    real, left = os.write, [room]

    def write(handle: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(handle, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(request_log.os, "write", write)


def test_every_request_is_one_line_after_the_log_is_closed(log: RequestLog) -> None:
    for index in range(5):
        _add(log, index)
    log.close()
    assert log.lines() == 5
    assert [json.loads(line)["index"] for line in log.path.read_text().splitlines()] == [0, 1, 2, 3, 4]


def test_a_full_disk_leaves_whole_lines_only(log: RequestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(log, 0)
    log.flush()
    size = log.path.stat().st_size
    for index in range(1, 5):
        _add(log, index)
    _room_for(monkeypatch, 2 * size + 10)
    with pytest.raises(Unwritable, match=r"requests_.*jsonl can not be written: No space left on device; free space"):
        log.flush()
    assert [json.loads(line)["index"] for line in log.path.read_text().splitlines()] == [0, 1, 2]


def test_nothing_is_written_behind_a_gap(log: RequestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(log, 0)
    with monkeypatch.context() as patch:
        _room_for(patch, 0)
        with pytest.raises(Unwritable):
            log.flush()
    _add(log, 1)
    with pytest.raises(Unwritable):
        log.close()
    assert log.lines() == 0


def test_a_log_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spec = LoadSpec(endpoint="http://x", model="m", results=str(tmp_path / "file"), isl=8, osl=4, concurrencies=(2,))
    with pytest.raises(Unwritable, match=r"requests_concurrency_2.*can not be written: Not a directory"):
        RequestLog(spec, 2)
