"""``inferlane plan --format script``."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.cli.main import main

RECIPE = """
base:
  schema: 2
  name: demo
  model: {path: hf:a/b}
  resources: {gpus_per_node: 8}
  engine: mock
  roles: {agg: {nodes: 1, workers: 1, gpus: 1}}
  frontend: {type: mock}
  environment: {HF_TOKEN: "${HF_TOKEN}"}
override_two:
  roles: {agg: {nodes: 2, workers: 2}}
override_three:
  roles: {agg: {nodes: 3, workers: 3}}
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "tok-0123456789")
    Path("r.yaml").write_text(RECIPE)
    return "r.yaml"


def test_stdout_is_a_script_and_the_names_that_are_passed_are_told(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", f"{recipe}:override_two", "--format", "script"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("#!/bin/bash\n#SBATCH --job-name=demo_two\n#SBATCH --output=RUN/job.log\n")
    assert "#SBATCH --nodes=2\n" in said.out
    assert "passed to the job by name: " in said.err
    assert "HF_TOKEN" in said.err
    assert "tok-0123456789" not in said.out + said.err


def test_each_variant_has_a_script(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", f"{recipe}:*", "--format", "script"]) == 0
    out = capsys.readouterr().out
    assert out.count("#!/bin/bash") == out.count("# r.yaml:override_") == 2


def test_where_the_frozen_files_go_is_shown(recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("runtime_config_transport: embedded\n")
    assert main(["plan", f"{recipe}:override_two", "--format", "script", "--cluster", "c.yaml"]) == 0
    assert "\n(the frozen files of the run)\n" in capsys.readouterr().out


def test_a_difference_is_not_shown_as_a_script(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", recipe, "--format", "script", "--diff", recipe]) == 2
    assert "--diff goes with --format table or json only" in capsys.readouterr().err
