"""A shortage of ours is told as one; anything else is not taken for it."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket

import pytest

from inferlane.cli.faults import tell
from inferlane.errors import RunFault
from inferlane.running.leftovers.ports import still_held
from inferlane.running.processes import limits
from inferlane.running.readiness import probes
from inferlane.values import Reply


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EMFILE, r"^out of file descriptors \(ulimit -n is \d+\); raise it$"),
        (errno.ENFILE, r"^this machine is out of file descriptors \(fs.file-max\)"),
        (errno.ENOMEM, r"^out of memory: Cannot allocate memory"),
    ],
)
def test_a_probe_that_we_could_not_make_is_no_answer_of_the_server(
    monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    async def starved(*args: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(asyncio, "open_connection", starved)
    with pytest.raises(RunFault, match=said):
        asyncio.run(probes.get("http://127.0.0.1:1/health", 1))


def test_a_probe_without_a_way_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreachable(*args: object, **options: object) -> None:
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    monkeypatch.setattr(asyncio, "open_connection", unreachable)
    assert asyncio.run(probes.get("http://127.0.0.1:1/", 1)) == Reply(body="[Errno 113] No route to host")


def test_to_try_again_is_a_shortage_only_where_a_process_was_to_start() -> None:
    error = BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    assert limits.shortage(error) is None
    assert "too many processes (ulimit -u is " in (limits.shortage(error, forking=True) or "")


def test_a_library_that_could_not_be_opened_is_a_shortage_too() -> None:
    assert "ulimit -n" in (limits.shortage(ImportError("x.so: Too many open files")) or "")
    assert limits.shortage(ImportError("no module named x")) is None


@pytest.mark.parametrize(("number", "said"), [(errno.EMFILE, "out of file descriptors"), (errno.EAGAIN, "processes")])
def test_any_command_tells_a_shortage_by_the_limit(capsys: pytest.CaptureFixture[str], number: int, said: str) -> None:
    assert tell(OSError(number, os.strerror(number)), debug=False) == 1
    out = capsys.readouterr().err
    assert said in out
    assert "ulimit" in out
    assert "--debug" not in out


def test_a_limit_is_lifted_as_far_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: asked.append(pair))
    assert limits.lift_file_limit() == (256, 4096)
    assert asked == [(4096, 4096)]


def test_a_port_that_is_still_held_is_told_with_its_holder_and_others_are_not() -> None:
    with socket.socket() as mine, socket.socket() as every:
        mine.bind(("127.99.2.1", 0))
        mine.listen()
        every.bind(("", 0))
        every.listen()
        (line,) = still_held({"127.99.2.1", "127.99.2.2"}, seconds=0)
        port = mine.getsockname()[1]
    assert line.startswith(f"port 127.99.2.1:{port}, held by {os.getpid()} ")
    assert still_held({"127.99.2.1"}) == []
