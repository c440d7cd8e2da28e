"""What every end-to-end test must leave behind: nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from inferlane.running.processes import proc


def _reaped(pids: list[int]) -> list[str]:
    alive = []
    for pid in pids:
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            ended = proc.stat(pid) is None
        if not ended:
            alive.append(f"{pid} {proc.command_of(pid)}")
    return alive


@pytest.fixture(autouse=True)
def nothing_is_left_running(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails an e2e test after which a descendant of pytest lives; with the last one every socket of the test is closed.

    Other runs on the machine have loopback sockets of their own, so sockets are not counted.
    """
    if "e2e" not in request.keywords and "e2e" not in request.path.parts:
        yield
        return
    proc.become_subreaper()
    children = frozenset(proc.descendants(os.getpid()))
    yield
    deadline = time.monotonic() + 3
    while True:
        left = _reaped([pid for pid in proc.descendants(os.getpid()) if pid not in children])
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert not left, f"left running: {left}"
