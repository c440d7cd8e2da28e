"""``inferlane wait`` and every way in which a real job ends, with accounting and without."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from inferlane.testing.slurm_lab import Lab, Site

pytestmark = pytest.mark.slurm

SMALL = Site(nodes=2, fabric=False, lost_s=6)
SITES = {"plain": SMALL, "accounting": replace(SMALL, accounting=True)}


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, labs: Callable[[Site], Lab]) -> Iterator[Lab]:
    lab = labs(SITES[request.param])
    yield lab
    assert lab.left() == []


def submitted(lab: Lab, script: str, *options: str, user: str | None = None) -> str:
    argv = ["sbatch", "--parsable", "--no-requeue", "-o", "/dev/null", *options, "--wrap", script]
    done = lab.run(argv, user)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def argv(lab: Lab, number: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "inferlane", "wait", number, "-o", str(lab.folder / "outputs"), *words]


def waiting(lab: Lab, number: str, *words: str, says: str = "RUNNING") -> subprocess.Popen[str]:
    """Started, and it has said this of the job."""
    process = lab.start(argv(lab, number, *words))
    assert process.stderr is not None
    lines: list[str] = []
    while not lines or says not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    return process


def over(process: subprocess.Popen[str], seconds: float = 60) -> tuple[int, str]:
    """Exit code and the last line."""
    err = process.communicate(timeout=seconds)[1]
    return process.returncode, err.splitlines()[-1]


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("exit 0", 0, "COMPLETED 0:0"),
        ("exit 3", 3, "FAILED 3:0"),
        ("kill -9 $$", 137, "FAILED 0:9"),
        ("kill -TERM $$", 143, "FAILED 0:15"),
    ],
)
def test_a_job_that_ends_by_itself(site: Lab, script: str, code: int, words: str) -> None:
    number = submitted(site, f"sleep 1; {script}")
    assert over(site.start(argv(site, number)))[0] == code
    late = site.run(argv(site, number, "--json"))  # it has left the queue long ago
    said = json.loads(late.stdout)
    assert late.returncode == code
    assert f"{said['state']} {said['job_exit_code']}:{said['job_signal']}" == words
    assert said["said_by"] == ("sacct" if site.site.accounting else "scontrol")


def test_a_job_that_is_cancelled_while_it_is_pending(site: Lab) -> None:
    number = submitted(site, "exit 0", "--hold")
    process = waiting(site, number, says="PENDING (JobHeldUser)")
    site.run(["scancel", number])
    code, line = over(process)
    assert (code, "CANCELLED" in line) == (1, True)


def test_a_job_that_is_cancelled_while_it_runs(site: Lab) -> None:
    number = submitted(site, "exec sleep 600")
    process = waiting(site, number)
    time.sleep(1.5)
    site.run(["scancel", number])
    code, line = over(process)
    expected = (1, "CANCELLED 0:0") if site.site.accounting else (143, "CANCELLED 0:15")  # accounting drops the signal
    assert code == expected[0]
    assert expected[1] in line


def test_a_job_whose_node_dies(site: Lab) -> None:
    number = submitted(site, "exec sleep 600", "-w", site.nodes[1])
    process = waiting(site, number)
    time.sleep(1.5)
    site.fault("power-off", site.nodes[1])
    try:
        code, line = over(process, 90)
    finally:
        site.fault("power-on", site.nodes[1])
        site.ready()
    assert code != 0
    assert "NODE_FAIL" in line


def test_a_job_that_runs_into_its_time_limit(labs: Callable[[Site], Lab]) -> None:
    both = [labs(site) for site in SITES.values()]
    started = [waiting(lab, submitted(lab, "exec sleep 600", "--time=1")) for lab in both]
    for process in started:
        code, line = over(process, 150)
        assert code != 0
        assert "TIMEOUT" in line


def test_a_job_that_does_not_exist(site: Lab) -> None:
    done = site.run(argv(site, "99999", "--timeout", "2"))
    assert (done.returncode, done.stdout) == (5, "")
    assert "is not known yet; it is not over after 2 s" in done.stderr


def test_a_job_that_still_runs_at_the_timeout(site: Lab) -> None:
    number = submitted(site, "exec sleep 600")
    done = site.run(argv(site, number, "--timeout", "2"))
    state = site.run(["squeue", "-h", "-j", number, "-o", "%T"]).stdout.strip()
    site.run(["scancel", number])
    assert (done.returncode, state) == (5, "RUNNING")


def test_ctrl_c_leaves_the_job_running(site: Lab) -> None:
    number = submitted(site, "exec sleep 600")
    process = waiting(site, number)
    process.send_signal(signal.SIGINT)
    code, line = over(process)
    state = site.run(["squeue", "-h", "-j", number, "-o", "%T"]).stdout.strip()
    site.run(["scancel", number])
    assert (code, state) == (130, "RUNNING")
    assert "still runs" in line


def test_a_controller_that_is_away_for_twenty_seconds_while_the_job_ends(site: Lab) -> None:
    number = submitted(site, "sleep 12; exit 3")
    process = waiting(site, number)
    time.sleep(7)  # the controller saves its state every five seconds
    site.fault("ctld-kill")
    time.sleep(20)
    site.fault("ctld-start")
    code, line = over(process, 90)
    assert (code, "FAILED 3:0" in line) == (3, True), line
    site.ready()


def test_the_log_comes_byte_for_byte(site: Lab) -> None:
    log, shown = site.folder / "odd.log", site.folder / "shown"
    script = r"printf '\377\376 first\n'; sleep 2; printf 'caf\303'; sleep 1; printf '\251\n'"
    number = submitted(site, script, "-o", str(log))
    words = argv(site, number, "--log-file", str(log))
    done = site.run(["sh", "-c", 'out=$1; shift; exec "$@" > "$out"', "sh", str(shown), *words])
    assert (done.returncode, shown.read_bytes()) == (0, b"\xff\xfe first\ncaf\xc3\xa9\n")
