"""Workers of one machine share its devices: each is given its own, by position, whatever the devices are called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = """\
schema: 2
name: pool
model: {{path: "hf:Qwen/Qwen3-0.6B"}}
resources: {{gpu_type: h100, gpus_per_node: 8}}
engine: sglang
roles:
  agg: {{nodes: 1, workers: {workers}, gpus: {gpus}, args: {{tp-size: {gpus}}}}}
frontend: {{type: none}}
"""
ENGINE = """\
#!/bin/sh
case "$*" in *launch_server*) echo "mask=$CUDA_VISIBLE_DEVICES"; sleep 1;; esac
"""


def started(folder: Path, workers: int, gpus: int, *words: str, mask: str | None = None) -> tuple[str, list[str]]:
    """What a run says, and the masks of its workers; the engine prints its own and ends."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").write_text(ENGINE)
    (programs / "python3").chmod(0o755)
    (folder / "recipe.yaml").write_text(RECIPE.format(workers=workers, gpus=gpus))
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    if mask is not None:
        environment["CUDA_VISIBLE_DEVICES"] = mask
    command = [sys.executable, "-m", "inferlane", "run", "recipe.yaml", *words, "-o", "out"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    logs = sorted(folder.glob("out/*/logs/agg-*.log"))
    masks = [line for log in logs for line in log.read_text().splitlines() if line.startswith("mask=")]
    return done.stdout + done.stderr, [line.removeprefix("mask=") for line in masks]


def test_two_workers_on_two_devices_get_one_each(tmp_path: Path) -> None:
    assert started(tmp_path, 2, 1, "--gpus", "0,1")[1] == ["0", "1"]


def test_three_workers_on_two_devices_are_refused_with_both_numbers(tmp_path: Path) -> None:
    said, masks = started(tmp_path, 3, 1, "--gpus", "0,1")
    assert "3 devices needed, 2 available" in said
    assert masks == []


def test_a_mask_around_the_run_shrinks_the_pool(tmp_path: Path) -> None:
    assert started(tmp_path, 1, 1, "--gpus", "0,1", mask="1")[1] == ["1"]


def test_two_workers_within_a_mask_of_one_device_are_refused(tmp_path: Path) -> None:
    said, masks = started(tmp_path, 2, 1, "--gpus", "0,1", mask="1")
    assert "2 devices needed, 1 available" in said
    assert masks == []


@pytest.mark.parametrize(("workers", "gpus"), [(2, 2), (3, 2)])
def test_identifiers_are_handed_on_as_words_and_counted(tmp_path: Path, workers: int, gpus: int) -> None:
    said, masks = started(tmp_path, workers, gpus, mask="GPU-aaaa,GPU-bbbb,MIG-cccc,MIG-dddd")
    if workers * gpus == 4:
        assert masks == ["GPU-aaaa,GPU-bbbb", "MIG-cccc,MIG-dddd"]
    else:
        assert "6 devices needed, 4 available" in said
