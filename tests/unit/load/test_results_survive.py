"""What was finished stays, whatever comes: a full disk, a signal, a clock that jumps."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from inferlane.load import results
from inferlane.load.level import Stop
from inferlane.load.spec import LoadSpec
from inferlane.load.sweep import Sweep

TWO_LEVELS = {"concurrencies": (1, 64), "requests": None, "num_prompts_mult": 5}
"""A level of 5 requests, whose files are small, and one of 320, whose log is not."""


def test_a_log_that_can_grow_no_more_ends_the_sweep_and_says_so(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=ok", "delay=0.01").url)
    done = client.run(wrapper=("sh", "-c", 'ulimit -f 32; exec "$@"', "sh"), stop_on_invalid=False, **TWO_LEVELS)
    first, second = client.points()
    log = client.folder / "sa-bench_isl_32_osl_4" / second["request_log"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert done.returncode == 1
    assert (first["valid"], first["completed"]) == (True, 5)
    assert (second["valid"], second["end"]) == (False, "broken")
    assert second["reason"].startswith(f"{log} can not be written: File too large; free space there")
    assert second["sent"] == second["completed"] + second["failed"] + second["cancelled"]
    assert 0 < len(lines) == second["request_log_lines"] < second["sent"]
    assert f"inferlane.load: concurrency 64 is invalid: {log} can not be written" in done.stderr


@pytest.fixture
def tiny_disk(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """A folder that is a file system of 64 KiB inside the wrapper, and the wrapper; what is left there is kept."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=64k none {disk}"
    tried = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a file system of one's own can not be mounted here: {tried.stderr.strip()}")
    script = f'{mount} || exit 99; "$@"; code=$?; cp -r {disk} {kept}; exit $code'
    return disk, ("unshare", "-rm", "sh", "-c", script, "sh")


def test_a_full_disk_leaves_the_finished_points_valid_and_listed(
    engine: Any, make_client: Any, tiny_disk: tuple[Path, tuple[str, ...]]
) -> None:
    disk, wrapper = tiny_disk
    client = make_client(engine("gen=ok", "delay=0.01").url)
    done = client.run(wrapper=wrapper, results=str(disk), **TWO_LEVELS)
    kept = client.folder / "kept" / "sa-bench_isl_32_osl_4"
    first = json.loads((kept / "results_concurrency_1_gpus_0.json").read_text())
    assert done.returncode == 1
    assert (first["valid"], first["completed"]) == (True, 5)
    assert "concurrency 64 is invalid" in done.stderr
    assert "can not be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    listed = [line.split() for line in done.stdout.splitlines() if line.endswith(("yes", "NO"))]
    assert [(words[0], words[-1]) for words in listed] == [("1", "yes"), ("64", "NO")]
    for line in (kept / "requests_concurrency_64_gpus_0.jsonl").read_text().splitlines():
        json.loads(line)
    assert not list(kept.glob(".*"))


def test_a_result_that_can_not_be_written_is_listed_as_invalid_and_is_the_last(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = results.write_whole

    def write(path: Path, content: bytes) -> None:
        if "concurrency_4" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(results, "write_whole", write)
    shape: dict[str, Any] = {"isl": 8, "osl": 4, "concurrencies": (2, 4, 8), "requests": 8, "num_warmup_mult": 0}
    spec = LoadSpec(endpoint=engine("delay=0.01").url, model="m", results=str(tmp_path), stop_on_invalid=False, **shape)
    said = io.StringIO()

    async def run() -> Sweep:
        sweep = Sweep(spec, Stop(), said)
        await sweep.run()
        return sweep

    sweep = asyncio.run(run())
    assert [(point["max_concurrency"], point["valid"]) for point in sweep.points] == [(2, True), (4, False)]
    assert "results_concurrency_4_gpus_0.json can not be written: No space left" in sweep.points[1]["reason"]
    assert "concurrency 4: num_prompts 8, sent 8, completed 8" in said.getvalue()
    assert [path.name for path in results.folder(spec).glob("results_*")] == ["results_concurrency_2_gpus_0.json"]


def test_words_that_can_not_be_written_take_no_result_with_them(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=ok", "delay=0.01").url)
    with Path("/dev/full").open("w") as full:
        assert client.run(stdout=full).returncode == 0
    assert client.point()["valid"]


def test_results_of_an_earlier_sweep_do_not_stand_for_this_one(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=ok", "delay=0.01").url)
    assert client.run(concurrencies=(2, 4)).returncode == 0
    again = make_client(engine("gen=503").url)
    assert again.run(concurrencies=(2, 4)).returncode == 1
    assert [(point["max_concurrency"], point["valid"]) for point in again.points()] == [(2, False)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_the_warm_up_is_an_invalid_point(engine: Any, make_client: Any, number: int, code: int) -> None:
    server = engine("gen=hang-one", "hang_at=4")
    client = make_client(server.url)
    with client.start(warmup_requests=4) as process:
        _wait(lambda: len(server.stats()["arrivals"]) >= 6)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    point = client.point()
    assert process.returncode == code
    told = re.fullmatch(r"stopped by a signal; in the warm-up, (\d) done and (\d) outstanding there", point["reason"])
    assert told is not None
    assert int(told[1]) + int(told[2]) == 4 > int(told[1])
    assert (point["valid"], point["sent"], point["not_sent"], point["duration"]) == (False, 0, 8, 0)
    assert point["reason"] in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_finished_points_and_names_the_open_one(
    engine: Any, make_client: Any, number: int, code: int
) -> None:
    client = make_client(engine("gen=hang-one", "hang_at=13").url)
    first_file = client.folder / "sa-bench_isl_32_osl_4" / "results_concurrency_2_gpus_0.json"
    with client.start(concurrencies=(2, 4, 8)) as process:
        _wait(first_file.exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    first, second = client.points()
    assert process.returncode == code
    assert (first["max_concurrency"], first["valid"], first["completed"]) == (2, True, 8)
    assert (second["max_concurrency"], second["valid"]) == (4, False)
    assert second["reason"].startswith("stopped by a signal; ")
    assert "not run: concurrency 8" in err


JUMPING = """
import os, time
real = time.time
time.time = lambda: real() + (float(os.environ["JUMP"]) if os.path.exists(os.environ["JUMPED"]) else 0.0)
"""


@pytest.mark.parametrize(("jump", "said"), [(3600.0, "went forward by 3600.0"), (-60.0, "went back by 60.0")])
def test_a_clock_that_jumps_is_told_and_durations_stay_right(
    engine: Any, make_client: Any, tmp_path: Path, jump: float, said: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(JUMPING)
    server = engine("gen=ok")
    client = make_client(server.url)
    environ = {"PYTHONPATH": str(tmp_path), "JUMP": str(jump), "JUMPED": str(tmp_path / "jumped")}
    began = time.monotonic()
    with client.start(environ, requests=60) as process:
        _wait(lambda: len(server.stats()["arrivals"]) >= 10)
        (tmp_path / "jumped").touch()
        out, _ = process.communicate(timeout=60)
    point = client.point()
    assert (process.returncode, point["valid"]) == (0, True)
    assert 0 < point["duration"] < time.monotonic() - began
    assert point["clock"]["level_off_s"] == pytest.approx(jump, abs=0.5)
    assert point["clock"]["sweep_off_s"] == pytest.approx(jump, abs=0.5)
    off = point["ended_at_unix"] - point["started_at_unix"] - point["duration"]
    assert off == pytest.approx(point["clock"]["level_off_s"], abs=1e-5)
    assert sum(said in warning for warning in point["warnings"]) == 2  # of the level, and of the sweep so far
    assert f"warning: the wall clock {said}" in out


def test_times_of_day_agree_with_the_duration(engine: Any, make_client: Any) -> None:
    client = make_client(engine("gen=ok").url)
    before = time.time()
    client.run()
    point = client.point()
    assert before < point["started_at_unix"] < point["ended_at_unix"] < time.time()
    assert point["ended_at_unix"] - point["started_at_unix"] == pytest.approx(point["duration"], abs=0.9)
    assert not any("clock" in warning for warning in point["warnings"])


def _wait(until: Any) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.01)
