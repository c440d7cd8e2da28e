"""``plan`` and ``check`` as a user calls them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from inferlane.cli.main import main

ROOT = Path(__file__).parents[3]
QUICKSTART = "examples/quickstart.yaml"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_table_names_every_process_and_gate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART]) == 0
    out = capsys.readouterr().out
    for word in (
        "prefill-0",
        "prefill-1",
        "decode-0",
        "mock",
        "benchmark",
        "router knows every worker",
        "{n0.host}:8000",
    ):
        assert word in out


def test_json_is_the_whole_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART, "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [process["name"] for process in plan["processes"]][:3] == ["prefill-0", "prefill-1", "decode-0"]


def test_commands_are_shell_lines_with_mask_and_removals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "examples/sglang/mi355x-dsv4-1p1d.yaml", "--format", "commands"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    words = shlex.split(lines[0])
    assert words[:3] == ["env", "-u", "CUDA_VISIBLE_DEVICES"]
    assert "ROCR_VISIBLE_DEVICES={n0.gpu0},{n0.gpu1},{n0.gpu2},{n0.gpu3}" in words
    assert words[words.index("python3") :][:3] == ["python3", "-m", "sglang.launch_server"]


def test_set_and_unset_change_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ["--set", "roles.decode.workers=2", "--set", "roles.decode.gpus=2", "--unset", "benchmark"]
    assert main(["plan", QUICKSTART, *edits]) == 0
    out = capsys.readouterr().out
    assert "decode-1" in out
    assert "benchmark" not in out


def test_explain_names_line_plugin_and_what_was_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ["--set", "environment.A=low", "--set", "roles.decode.env.A=high"]
    assert main(["plan", "examples/sglang/h100-1p1d.yaml", "--explain", *edits]) == 0
    out = capsys.readouterr().out
    assert "A=high  <- roles.decode.env.A (--set)  (over low, environment.A (--set))" in out
    assert (
        "--mem-fraction-static 0.85  <- roles.prefill.args.mem-fraction-static (examples/sglang/h100-1p1d.yaml:" in out
    )
    assert "CUDA_VISIBLE_DEVICES={n0.gpu0},{n0.gpu1},{n0.gpu2},{n0.gpu3}  <- accelerator h100" in out


def test_check_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", QUICKSTART]) == 0
    assert "ok: 3 worker process(es) on 2 node(s), 5 in all" in capsys.readouterr().out


def test_check_strict_turns_a_warning_into_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = ["--set", "resources.gpu_type=mi9000"]
    assert main(["check", QUICKSTART, *unknown]) == 0
    assert "no plugin knows 'mi9000'" in capsys.readouterr().err
    assert main(["check", QUICKSTART, "--strict", *unknown]) == 2


def test_a_wrong_recipe_gets_one_line_per_fault_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text((ROOT / QUICKSTART).read_text().replace("gpus: 4", "gpu: 4"))
    assert main(["check", str(recipe)]) == 2
    err = capsys.readouterr().err
    assert "roles.decode.gpu: unknown key; did you mean 'gpus'?" in err
    assert f"{recipe}:23:34: " in err
    assert "Traceback" not in err


def test_faults_in_the_blocks_of_several_plugins_come_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    text = (ROOT / QUICKSTART).read_text()
    recipe.write_text(
        text.replace("isl: 64", "ils: 64").replace("load_seconds", "load_second").replace("port:", "prot:")
    )
    assert main(["check", str(recipe)]) == 2
    err = capsys.readouterr().err
    for words in ("engine.load_second: unknown key", "frontend.prot: unknown key", "benchmark.ils: unknown key"):
        assert words in err


def test_planning_faults_have_places_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", QUICKSTART, "--set", "roles.prefill.workers=5"]) == 2
    err = capsys.readouterr().err
    assert "roles.prefill.nodes: 5 worker(s) of 2 GPUs need 2 node(s) of 8, but 1 stated" in err


def test_faults_of_the_recipe_and_of_its_plugins_blocks_come_at_once_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    text = (ROOT / QUICKSTART).read_text()
    recipe.write_text(text.replace("gpus: 4", "gpu: 4").replace("isl: 64", "ils: 64").replace("  load_s", "  loads_s"))
    assert main(["check", str(recipe)]) == 2
    lines = capsys.readouterr().err.splitlines()
    found = [line.split(": ")[2] for line in lines]
    assert found == ["engine.loads_seconds", "roles.decode.gpu", "benchmark.isl", "benchmark.ils"]


def test_a_refused_plan_prints_errors_and_no_warning_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ["--set", "resources.gpu_type=mi9000", "--set", "roles.prefill.workers=5"]
    assert main(["check", QUICKSTART, *edits]) == 2
    assert "warning" not in capsys.readouterr().err


def test_an_argument_from_the_engine_block_is_explained_by_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART, "--explain"]) == 0
    assert f"--tokens-per-second 400  <- engine.tokens_per_second ({QUICKSTART}:18:3)" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["frontend.port", "engine.load_seconds", "benchmark.isl"])
def test_true_is_no_number_in_a_plugins_block(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", QUICKSTART, "--set", f"{path}=true"]) == 2
    assert f"{path}: must be a number, not true" in capsys.readouterr().err


def test_a_switch_that_matches_nothing_installed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--disable", "inferlane-sglan", "check", QUICKSTART]) == 0
    assert "inferlane-sglan: nothing installed is called so" in capsys.readouterr().err
