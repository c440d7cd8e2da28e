"""A run that is out of file descriptors or processes says so in one line, and leaves nothing."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.handmade import health, plan, served, server, shell
from inferlane.values import Plan

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
QUICK = shell("bench", "ulimit -n", kind="benchmark")
FILES = "out of file descriptors (ulimit -n is {}"


@contextlib.contextmanager
def files(soft: int) -> Iterator[None]:
    """What is started meanwhile may open only so many files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.prlimit(0, resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(0, resource.RLIMIT_NOFILE, before)


def injected(tmp_path: Path, code: str) -> Mapping[str, str]:
    """An environment in which every interpreter runs ``code`` first."""
    (tmp_path / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(tmp_path)}


def limited(code: str, limit: int) -> str:
    """Our own processes, not those that they start, get a hard limit; ``code`` runs before them."""
    return (
        "import sys\n"
        "if 'inferlane.testing.run_plan_file' in sys.orig_argv:\n"
        f"    import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))\n"
        f"    {code}\n"
    )


NO_ROOM = "import inferlane.running.processes.limits as limits; limits.check_file_limit.__defaults__ = (0,)"


@pytest.mark.parametrize("limit", [8, 12, 20, 40])
def test_a_limit_that_is_too_low_is_one_line_before_anything_starts(start: Start, tmp_path: Path, limit: int) -> None:
    run = start(served(QUICK), env=injected(tmp_path, limited("pass", limit)))
    code, out = run.end()
    assert code == 1
    assert own_lines(out) == [f"error: {FILES.format(limit)}, a run needs {run_needs(out)}); raise it"]
    assert FILES.format(limit) in run.verdict()["cause"]["message"]


def own_lines(out: str) -> list[str]:
    """Without what a run says of others' leftovers: tests beside this one kill runs on purpose."""
    return [line for line in out.splitlines() if "dead run" not in line]


def run_needs(out: str) -> str:
    return out.partition("a run needs ")[2].partition(")")[0]


def test_a_limit_at_which_not_even_a_folder_can_be_claimed_is_one_line_too(start: Start, tmp_path: Path) -> None:
    run = start(served(QUICK), env=injected(tmp_path, limited(NO_ROOM, 5)))
    code, out = run.end()
    assert code == 1
    assert out.splitlines()[-1] == f"error: {FILES.format(5)}); raise it"


@pytest.mark.parametrize("limit", [10, 11, 12, 13])
def test_descriptors_that_run_out_on_the_way_are_the_cause_and_never_a_server_that_is_silent(
    start: Start, tmp_path: Path, limit: int
) -> None:
    run = start(served(QUICK), env=injected(tmp_path, limited(NO_ROOM, limit)))
    code, _ = run.end(40)
    if code == 0:  # with one less it was not enough
        return
    verdict = run.verdict()
    assert (code, verdict["verdict"]) == (1, "failed")
    assert FILES.format(limit) in verdict["cause"]["message"]
    assert verdict["clean"]


def test_descriptors_that_run_out_while_probing_are_told_at_once(start: Start, tmp_path: Path) -> None:
    workers = [server(f"w-{index}", 6100 + index, ("health=503",)) for index in range(40)]
    gates = tuple(health(f"w-{index}", 6100 + index) for index in range(40))
    made = plan(*workers, gates=gates, start_timeout_s=60)
    run = start(made, env=injected(tmp_path, limited(NO_ROOM, 24)))
    code, out = run.end(60)
    assert code == 1
    assert f"first cause: {FILES.format(24)}); raise it" in out
    assert "did not hold in time" not in out
    assert run.verdict()["clean"]


def test_we_take_what_we_may_and_programs_get_the_limit_of_the_user(start: Start) -> None:
    with files(40):
        run = start(served(QUICK))
    code, _ = run.end()
    assert code == 0
    assert (run.folder / "logs/bench.log").read_text() == "40\n"


# -- processes -------------------------------------------------------------------------------------------------------

_NO_FORK = """
import errno, os, sys
if "inferlane.testing.run_plan_file" in sys.orig_argv:
    import _posixsubprocess
    real, left = {real}, [{number}]
    def fork(*args):
        left[0] -= 1
        if left[0] < 0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return real(*args)
    {real} = fork
"""
TOO_MANY = "Resource temporarily unavailable; too many processes (ulimit -u is "


def no_fork(tmp_path: Path, real: str, number: int) -> Mapping[str, str]:
    return injected(tmp_path, _NO_FORK.format(real=real, number=number))


def three() -> Plan:
    return served(server("worker-1", 6101), QUICK)


@pytest.mark.parametrize(("number", "name"), [(0, "worker-0"), (1, "worker-1"), (2, "bench")])
def test_a_process_that_cannot_be_forked_is_named(start: Start, tmp_path: Path, number: int, name: str) -> None:
    code = _NO_FORK.format(real="_posixsubprocess.fork_exec", number=number)
    code += "    import subprocess; subprocess._fork_exec = fork; subprocess._USE_VFORK = False\n"
    run = start(three(), env=injected(tmp_path, code))
    status, out = run.end()
    assert status == 1
    assert f"{name}: cannot start" in out
    assert TOO_MANY in out
    assert (run.verdict()["cause"]["process"], run.verdict()["clean"]) == (name, True)


def test_a_supervisor_that_cannot_be_forked_is_one_line(start: Start, tmp_path: Path) -> None:
    run = start(served(QUICK), env=no_fork(tmp_path, "os.fork", 0))
    code, out = run.end()
    assert code == 1
    assert out.startswith(f"error: cannot start the supervisor: {TOO_MANY}")
    assert len(own_lines(out)) == 1
    assert list(run.outputs.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs a user of its own, to count the processes of")
def test_a_user_who_may_not_have_more_processes_is_told(tmp_path: Path) -> None:
    script = (
        "import os, resource, sys, tempfile\n"
        "from inferlane.running.guardian import guarded\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\n"
        "os.setgid(54321); os.setuid(54321)\n"
        "sys.exit(guarded(lambda announce: 0))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, cwd="/")
    assert done.returncode == 1
    assert done.stderr == f"error: cannot start the supervisor: {TOO_MANY}1); end some, or raise it\n"
