"""Following the logs of a run: from the right line on, to the very last one, in bounded memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferlane.running.folder.directory import RunDirectory, create, record_owner
from inferlane.running.logs.following import Following, start_of_tail


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made, scratch = create(tmp_path / "out", "r"), tmp_path / "il-scratch"
    scratch.mkdir()
    record_owner(made, os.getpid(), scratch)
    return made


def lines(pieces: Iterator[list[str]]) -> list[str]:
    return [line for piece in pieces for line in piece]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 99])
def test_the_tail_begins_with_a_whole_line(tmp_path: Path, end: bytes, count: int) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"a\n\nb" + end)
    assert log.read_bytes()[start_of_tail(log, count) :] == {0: b"", 1: b"b" + end, 2: b"\nb" + end}.get(
        count, b"a\n\nb" + end
    )


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_the_tail_is_the_same_however_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr("inferlane.running.logs.following._BACK", block)
    log = tmp_path / "x.log"
    log.write_bytes(b"one\ntwo\n\nfour\n")
    rest = [log.read_bytes()[start_of_tail(log, count) :] for count in (1, 2, 3, 4)]
    assert rest == [b"four\n", b"\nfour\n", b"two\n\nfour\n", b"one\ntwo\n\nfour\n"]


def test_new_processes_and_last_lines_are_not_missed(run: RunDirectory) -> None:
    run.log("a").write_bytes(b"old\nnew\n")

    def go_on() -> None:
        time.sleep(0.1)
        with run.log("a").open("ab") as log:
            log.write(b"more\n")
        run.log("b").write_bytes(b"first\n")
        time.sleep(0.5)
        with run.log("b").open("ab") as log:
            log.write(b"x\n" * 2_000_000 + b"the last one")  # more than is read at once
        run.write("run.json", b'{"verdict": "success"}')

    writer = threading.Thread(target=go_on)
    writer.start()
    seen = lines(Following(run, (), 1).pieces(follow=True))
    writer.join()
    assert [line for line in seen if line.startswith("a: ")] == ["a: new", "a: more"]
    of_b = [line for line in seen if line.startswith("b: ")]
    assert (of_b[0], len(of_b), of_b[-1]) == ("b: first", 2_000_002, "b: the last one")


def test_one_process_of_one_has_no_prefix_and_no_control_characters(run: RunDirectory) -> None:
    run.log("a").write_bytes(b"10%\r20%\r\x1b[31mred\x1b[0m \x07\xff\xe2\x80\xae\n")
    assert lines(Following(run, ("a",), 5).pieces(follow=False)) == ["red \ufffd\ufffd\ufffd"]


def test_a_log_of_a_gigabyte_is_followed_in_little_memory(run: RunDirectory) -> None:
    """Half of it is one endless line; the file is sparse, so that it costs no disk."""
    with run.log("a").open("wb") as log:
        log.truncate(1 << 30)
        log.seek(1 << 29)
        log.write(b"\nin the middle\n")
        log.seek(0, 2)
        log.write(b"\nthe end\n")
    run.write("run.json", b'{"verdict": "success"}')
    words = ["logs", run.id, "a", "-f", "-n", "100000", "-o", str(run.path.parent)]
    limit = 400 << 20

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "inferlane", *words], capture_output=True, preexec_fn=little, timeout=120, check=True
    )
    assert done.stdout.endswith(b"\nthe end\n")
