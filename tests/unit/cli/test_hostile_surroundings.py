"""Closed streams, a folder that is gone, signals before there is a run, options without sense."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from inferlane.cli.main import cli

QUICKSTART = Path(__file__).parents[3] / "examples/quickstart.yaml"
INFERLANE = (sys.executable, "-m", "inferlane")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_exit_status(closed: str) -> None:
    command = shlex.join((*INFERLANE, "check", str(QUICKSTART)))
    assert shell(f"{command} {closed}").returncode == 0
    assert shell(f"{command} --set nope=1 {closed}").returncode == 2


def test_a_current_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = shlex.join((*INFERLANE, "rehearse", str(QUICKSTART), "--json"))
    done = shell(f"cd {tmp_path}/gone && rmdir {tmp_path}/gone && {command}")
    assert done.returncode == 2
    assert done.stderr == "error: the current folder does not exist any more; go to another one\n"
    assert json.loads(done.stdout)["exit_code"] == 2


@pytest.mark.parametrize(("number", "code", "word"), [("INT", 130, "interrupted"), ("TERM", 143, "terminated")])
def test_a_signal_before_anything_is_started_is_told_also_as_json(
    tmp_path: Path, number: str, code: int, word: str
) -> None:
    recipe = tmp_path / "recipe.yaml"
    os.mkfifo(recipe)
    command = (*INFERLANE, "rehearse", str(recipe), "--json")
    popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with recipe.open("wb"):  # returns when the command has opened the other end, and so waits for the recipe
        time.sleep(0.1)
        popen.send_signal(signal.Signals[f"SIG{number}"])
        out, err = popen.communicate(timeout=20)
    assert popen.returncode == code
    assert json.loads(out)["verdict"] == word
    assert err == f"{word}: stopped by SIG{number} before anything was started\n"


@pytest.mark.parametrize("option", ["--grace", "--load-seconds", "--tokens-per-second"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_number_that_is_none_is_a_usage_error(option: str, value: str) -> None:
    done = CliRunner().invoke(cli, ["rehearse", str(QUICKSTART), option, value])
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (("decode-0",), "say PROCESS=FAULT"),
        (("decode-0=",), "no fault is named"),
        (("decode-0=error", "decode-0=zero"), "has the fault error already"),
        (("decode-0=crash@inf",), "is none of"),
    ],
)
def test_a_fault_that_could_not_strike_is_refused_as_json_too(faults: tuple[str, ...], said: str) -> None:
    words = [word for fault in faults for word in ("--fault", fault)]
    command = (*INFERLANE, "rehearse", str(QUICKSTART), "--json", *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in json.loads(done.stdout)["message"]


def test_unreadable_metadata_of_a_distribution_that_nobody_named_hurts_no_command(tmp_path: Path) -> None:
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "entry_points.txt").write_bytes(b"[inferlane.engines]\n\xff = x\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for words in (["check", str(QUICKSTART)], ["doctor"], ["check", str(QUICKSTART), "--unset", "engine"]):
        done = subprocess.run([*INFERLANE, *words], capture_output=True, text=True, env=environment, check=False)
        assert "UnicodeDecodeError: " not in done.stderr
        assert done.returncode == (2 if "--unset" in words else 0), done.stderr


@pytest.mark.parametrize("command", ["run", "rehearse"])
def test_a_dry_run_as_json_is_the_plan_as_json(command: str) -> None:
    words = (*INFERLANE, command, str(QUICKSTART), "--dry-run", "--json")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["name"] == "quickstart"
