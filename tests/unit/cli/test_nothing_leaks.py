"""What a plan shows and what it keeps: no secret in any form of output, no output at all for a wrong cluster file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.cli.main import main

RECIPE = """\
schema: 2
name: demo
model: {path: "hf:Qwen/Qwen3-0.6B"}
resources: {gpu_type: h100, gpus_per_node: 8}
engine: sglang
environment: {HF_TOKEN: "${HF_TOKEN}", PLAIN: seen}
roles:
  agg: {nodes: 1, workers: 1, gpus: 1, args: {tp-size: 1, api-key: tok-456}, env: {MY_SECRET: tok-789}}
frontend: {type: sglang-router, env: {ROUTER_TOKEN: tok-321}}
benchmark: {type: custom, command: "true", env: {CLIENT_KEY: tok-654}}
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "tok-123")
    monkeypatch.delenv("INFERLANE_CLUSTER", raising=False)
    monkeypatch.delenv("SRTSLURM_CONFIG", raising=False)
    Path("recipe.yaml").write_text(RECIPE)


@pytest.mark.parametrize("words", ["", "--format json", "--format commands", "--explain", "--explain agg-0"])
def test_no_form_of_a_plan_shows_a_secret(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    edit = ["--set", "roles.agg.env.OTHER_KEY=tok-987"]
    assert main(["plan", "recipe.yaml", *edit, *words.split()]) == 0
    out, err = capsys.readouterr()
    assert "tok-" not in out + err
    assert "demo" in out or "agg-0" in out


@pytest.mark.parametrize("edit", ["environment.HF_TOKEN=[tok-555]", "roles.agg.args.api_key=tok-555", "roles.agg.x=1"])
def test_no_refusal_shows_a_secret(edit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "recipe.yaml", "--set", edit]) == 2
    assert "tok-" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("command", ["plan", "run", "check", "rehearse"])
def test_a_wrong_cluster_file_stops_every_command_before_it_prints_or_writes(command: str, tmp_path: Path) -> None:
    Path("cluster.yaml").write_text("name: testc\npartiton: gpu\ngpus_per_node: 8\n")
    words = [sys.executable, "-m", "inferlane", command, "recipe.yaml", "--cluster", "cluster.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: cluster.yaml:2:1: partiton: unknown key; did you mean 'default_partition'?\n"
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.yaml", "recipe.yaml"]
