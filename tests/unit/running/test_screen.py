"""What is drawn on a terminal, and writing to readers that are slow, gone or full."""

from __future__ import annotations

import contextlib
import io
import os
import socket
from pathlib import Path

import pytest
from rich.cells import cell_len  # noqa: TID253 - a test

from inferlane.running.terminal import outlet as outlets
from inferlane.running.terminal.board import Row
from inferlane.running.terminal.outlet import Outlet
from inferlane.running.terminal.report import LiveReporter, Reporter
from inferlane.running.terminal.screen import Screen, cut, in_foreground, is_live, table_lines
from inferlane.testing.terminal import shown

ROWS = (Row("decode-0", "starting", 61.2, "HTTP 503", "加载模型权重"), Row("prefill-12", "ready", 3, "", ""))


@pytest.mark.parametrize("width", [0, 1, 2, 3, 19, 20, 59, 60, 79, 200])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    assert all(cell_len(line) <= width for line in table_lines(ROWS, width))


def test_where_there_is_little_room_the_state_comes_first() -> None:
    assert table_lines(ROWS, 19) == ["starting 61s decod…", "ready 3s prefill-12"]
    assert table_lines(ROWS, 100)[0] == "decode-0    starting      61 s  HTTP 503 | 加载模型权重"


def test_a_wide_character_is_never_cut_in_two() -> None:
    assert [cut("加载模", width) for width in (6, 5, 4, 3)] == ["加载模", "加载…", "加 …", "加…"]


@pytest.mark.parametrize(
    ("environ", "tty", "live"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "CI": "false", "NO_COLOR": ""}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "CI": "true"}, True, False),
    ],
)
def test_a_table_moves_only_where_it_can_and_may(environ: dict[str, str], tty: bool, live: bool) -> None:
    assert is_live(environ, tty) == live


def test_a_table_replaces_the_one_before_also_after_the_terminal_became_narrower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    screen = Screen(Outlet(out), -1)
    size = [(80, 24)]
    monkeypatch.setattr(screen, "size", lambda: size[0])
    screen.lines(["first"])
    screen.draw(ROWS)
    screen.draw(ROWS)
    screen.lines(["second"])
    screen.draw(ROWS)
    seen = shown(out.getvalue(), *size[0])
    assert seen[:2] == ["first", "second"]
    assert [line.split()[0] for line in seen[2:]] == ["decode-0", "prefill-12"]
    size[0] = (30, 24)  # what was 53 cells wide takes two lines now, as terminals break their text anew
    begin = out.tell()
    screen.erase()
    assert shown("\n".join(seen) + "\n" + out.getvalue()[begin:], *size[0]) == ["first", "second"]


def test_of_many_processes_those_that_are_not_ready_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    screen = Screen(Outlet(out), -1)
    monkeypatch.setattr(screen, "size", lambda: (80, 6))
    screen.draw([*(Row(f"w-{number}", "ready", 1, "", "") for number in range(500)), ROWS[0]])
    seen = shown(out.getvalue(), 80, 6)
    assert (len(seen), seen[0].split()[0], seen[-1]) == (4, "decode-0", "... and 498 more")


def test_a_full_pipe_keeps_its_words_for_later_and_does_not_wait() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as read, os.fdopen(writer, "w") as write:
        out = Outlet(write)
        for _ in range(100):
            out.write("x" * 1023 + "\n")
        assert out.waiting
        taken = 0
        while out.waiting:
            taken += len(os.read(read.fileno(), 65536))
            out.drain(0)
            out.write("")
        assert taken >= 36 * 1024
        assert not out.broken
        assert os.get_blocking(write.fileno())  # others share that description


def test_what_nobody_takes_is_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "_MOST", 1000)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as read, os.fdopen(writer, "w") as write:
        out = Outlet(write)
        for _ in range(100):
            out.write("x" * 999 + "\n")
        text = b""
        while out.waiting:
            text += os.read(read.fileno(), 65536)
            out.write("")
        text += os.read(read.fileno(), 65536)
    lost = 100 - text.count(b"x\n")
    assert lost > 0
    assert text.endswith(f"... {lost} lines were not shown, nobody took them\n".encode())


def test_a_socket_is_written_without_waiting_too() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, os.fdopen(os.dup(ours.fileno()), "w") as write:
        out = Outlet(write)
        for _ in range(900):
            out.write("x" * 1000 + "\n")
        assert out.waiting
        assert theirs.recv(10) == b"x" * 10


@pytest.mark.parametrize("gone", ["pipe", "full", "closed"])
def test_a_reader_that_is_gone_is_no_error(gone: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe, Path("/dev/full").open("w") as full:
        stream = full if gone == "full" else pipe
        if gone == "closed":
            pipe.close()
        report = Reporter(out=stream)
        report.line("hello \udcff")
        report.progress(lambda: ROWS)
        assert report._outlet.broken
        with contextlib.suppress(OSError):  # what it could not take before
            full.close()


def test_while_the_command_is_put_aside_nothing_is_written_over_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as read, os.fdopen(writer, "w") as write:
        front = [False]
        monkeypatch.setattr("inferlane.running.terminal.report.in_foreground", lambda pid: front[0])
        report = LiveReporter(write, os.getppid())
        report.line("said meanwhile")
        report.progress(lambda: ROWS)
        os.set_blocking(read.fileno(), False)
        assert read.read() is None
        front[0] = True
        report.line("said later")
        said = read.read()
        assert said is not None
        assert said.index(b"said meanwhile") < said.index(b"said later")


def test_who_has_no_terminal_counts_as_in_the_foreground() -> None:
    assert in_foreground(1 << 30)  # no such process
