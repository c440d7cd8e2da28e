"""``--json`` is exactly one document on stdout, and no stream that fails, and no early signal, is a traceback."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUICKSTART = str(Path(__file__).parents[3] / "examples/quickstart.yaml")
INFERLANE = (sys.executable, "-m", "inferlane")


def call(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*INFERLANE, *words], capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


def shell(line: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = shlex.join((*INFERLANE, *words))
    return subprocess.run(
        ["sh", "-c", line.format(command)], capture_output=True, text=True, timeout=60, check=False, cwd=cwd
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "--json", "--nope"), 2, "nope"),
        (("run", "--json"), 2, "RECIPE"),
        (("rehearse", QUICKSTART, "--json", "--grace", "soon"), 2, "grace"),
        (("runn", "--json"), 2, "did you mean 'run'"),
        (("--json",), 2, "json"),
        (("status", "--json", "none-such"), 2, "no run none-such"),
        (("diff", "--json", "a.yaml", "b.yaml"), 2, "a.yaml"),
        (("plugins", "list", "--json", "--nope"), 2, "nope"),
        (("run", "--json", "--set", "engine.type=nope", QUICKSTART), 2, "nope"),
    ],
)
def test_what_is_refused_is_a_document_too(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = call(*words, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"], document["verdict"]) == (code, code, "refused")
    assert said in document["message"]
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_detached_run_that_is_refused_in_its_folder_is_one_document(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))
        holder.listen()
        port = f"frontend.port={holder.getsockname()[1]}"
        done = call("run", QUICKSTART, "--detach", "--json", "--set", port, "-o", str(tmp_path))
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"], document["verdict"]) == (1, 1, "failed")
    assert "the public port of the endpoint" in document["message"]
    assert "the public port of the endpoint" in done.stderr
    assert "{" not in done.stderr
    assert Path(document["folder"]).parent == tmp_path


def test_a_detached_run_that_is_refused_before_its_folder_is_one_document(tmp_path: Path) -> None:
    done = call("run", QUICKSTART, "--detach", "--json", "--set", "roles.decode.workers=99", "-o", str(tmp_path))
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (2, 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("status",), ("plan", QUICKSTART), ("run", QUICKSTART, "--dry-run"), ("doctor",)])
def test_output_on_a_full_device_is_one_line_and_a_failure(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = shell("{} >/dev/full", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: the output could not be written: No space left on device"
    assert "Traceback" not in done.stderr


def test_a_document_that_nobody_can_get_is_a_failure(tmp_path: Path) -> None:
    assert shell("{} >&-", "status", "--json", cwd=tmp_path).returncode == 1
    assert shell("{} >/dev/full", "status", "--json", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_a_full_or_closed_stderr_changes_no_exit_status(tmp_path: Path, where: str) -> None:
    assert shell(f"{{}} {where}", "check", QUICKSTART, cwd=tmp_path).returncode == 0
    refused = shell(f"{{}} {where}", "run", QUICKSTART, "--json", "--set", "nope=1", cwd=tmp_path)
    assert (refused.returncode, json.loads(refused.stdout)["exit_code"]) == (2, 2)


def test_a_reader_that_has_seen_enough_is_told_nothing(tmp_path: Path) -> None:
    done = shell("{} | head -1", "plan", QUICKSTART, "--format", "json", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("{\n", "")


_SAYS_WHEN_IT_LISTENS = """
import _signal, os
from inferlane.__main__ import program
real = _signal.signal
def told(number, handler):
    real(number, handler)
    _signal.signal = real
    os.write(2, b"up\\n")
_signal.signal = told
program()
"""


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.04, 0.08, 0.15])
def test_ctrl_c_in_the_first_moments_is_no_traceback(tmp_path: Path, delay: float) -> None:
    """Before the interpreter itself listens, the signal ends it; after that the answer is one line and 130."""
    words = [sys.executable, "-c", _SAYS_WHEN_IT_LISTENS, "run", QUICKSTART, "--json", "-o", str(tmp_path)]
    popen = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert popen.stderr is not None
    assert popen.stdout is not None
    assert popen.stderr.readline() == "up\n"
    time.sleep(delay)
    popen.send_signal(signal.SIGINT)
    out, err = popen.communicate(timeout=30)
    assert popen.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["exit_code"] == 130


@pytest.mark.parametrize(("number", "code"), [("QUIT", 143), ("HUP", 143)])
def test_quit_and_hangup_to_the_guardian_end_a_run_that_has_not_begun(tmp_path: Path, number: str, code: int) -> None:
    recipe = tmp_path / "recipe.yaml"
    os.mkfifo(recipe)
    words = (*INFERLANE, "run", str(recipe), "--json")
    popen = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with recipe.open("wb"):  # returns once the command waits for the recipe
        popen.send_signal(signal.Signals[f"SIG{number}"])
        out, err = popen.communicate(timeout=20)
    assert (popen.returncode, json.loads(out)["verdict"]) == (code, "terminated")
    assert err == f"terminated: stopped by SIG{number} before anything was started\n"


def test_a_supervisor_that_is_killed_before_there_is_a_run_is_a_document(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    os.mkfifo(recipe)
    for detach in ((), ("--detach",)):
        words = (*INFERLANE, "run", str(recipe), "--json", *detach)
        popen = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with recipe.open("wb"):
            below = _deepest(popen.pid)
            os.kill(below, signal.SIGKILL)
            out, err = popen.communicate(timeout=20)
        assert (popen.returncode, json.loads(out)["exit_code"]) == (1, 1)
        assert "supervisor was killed by signal 9" in err


@pytest.mark.parametrize(("number", "code"), [("INT", 130), ("TERM", 143)])
def test_who_stops_a_detaching_command_stops_the_run(tmp_path: Path, number: str, code: int) -> None:
    recipe = tmp_path / "recipe.yaml"
    os.mkfifo(recipe)
    words = (*INFERLANE, "run", str(recipe), "--json", "--detach", "-o", str(tmp_path / "out"))
    popen = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with recipe.open("wb"):
        below = _deepest(popen.pid)
        popen.send_signal(signal.Signals[f"SIG{number}"])
        out, _ = popen.communicate(timeout=20)
    assert (popen.returncode, json.loads(out)["exit_code"]) == (code, code)
    assert not Path(f"/proc/{below}").exists()


def _deepest(pid: int) -> int:
    from inferlane.running.processes.proc import children_of_all

    table = children_of_all()
    while pid in table:
        (pid,) = table[pid]
    return pid
