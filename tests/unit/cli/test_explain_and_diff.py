"""``plan --explain PATH``, ``plan --allocation``, ``plan --diff`` and ``diff`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inferlane.cli.main import main

ROOT = Path(__file__).parents[3]
QUICKSTART = "examples/quickstart.yaml"
ONE, TWO = "examples/sglang/mi355x-r1-1p2d.yaml", "examples/sglang/mi355x-r1-2p1d.yaml"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out.partition("where it comes from")[2]


@pytest.mark.parametrize("words", [["--explain", QUICKSTART], [QUICKSTART, "--explain"], ["--explain=", QUICKSTART]])
def test_a_bare_explain_may_stand_before_the_recipe(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "run quickstart" in explained(capsys, *words)


def test_explain_takes_what_it_is_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    told = explained(capsys, QUICKSTART, "--explain", "tokens_per_second")
    assert [line.strip() for line in told.splitlines() if "<-" in line] == [
        f"--tokens-per-second 400  <- engine.tokens_per_second ({QUICKSTART}:18:3)"
    ] * 2


@pytest.mark.parametrize(
    "words", [["--explain", "--load-seconds"], ["--explain=--load-seconds"], ["--explain", "engine.load_seconds"]]
)
def test_explain_takes_a_flag_with_its_dashes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, QUICKSTART, *words).count("<-") == 2


def test_explain_of_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART, "--explain", "--tokens-per-secnd"]) == 2
    assert "did you mean '--tokens-per-second'?" in capsys.readouterr().err


def test_what_set_replaced_in_the_file_is_shown_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = "engine.tokens_per_second"
    told = explained(capsys, QUICKSTART, "--set", f"{path}=7", "--explain", path)
    assert f"--tokens-per-second 7  <- {path} (--set)  (over 400, {QUICKSTART}:18:3)" in told


def test_what_an_override_replaced_in_the_base_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(QUICKSTART).read_text().replace("schema: 2\n", "").replace("\n", "\n  ")
    file = tmp_path / "r.yaml"
    file.write_text(f"schema: 2\nbase:\n  {text}\noverride_x:\n  health_check: {{max_attempts: 9}}\n")
    told = explained(capsys, f"{file}:override_x", "--explain", "health_check")
    assert "start deadline 9 s" in told
    assert f"(over 60, {file}:" in told


def test_an_alias_of_the_cluster_file_is_shown_with_both_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = tmp_path / "c.yaml"
    cluster.write_text("model_paths:\n  small: /models/small\n")
    edits = ["--set", "model.path=small", "--cluster", str(cluster), "--explain", "model.path"]
    assert f"model /models/small  <- model.path (--set, alias of {cluster}:2:10)" in explained(
        capsys, QUICKSTART, *edits
    )


def test_values_of_the_cluster_file_are_shown_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = tmp_path / "c.yaml"
    cluster.write_text("environment:\n  SITE: here\n")
    told = explained(capsys, QUICKSTART, "--cluster", str(cluster), "--explain", "SITE")
    assert f"SITE=here  <- cluster:environment.SITE ({cluster}:2:3)" in told


def test_a_secret_that_was_replaced_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(Path(QUICKSTART).read_text() + "environment: {HF_TOKEN: hush-1}\n")
    told = explained(capsys, str(file), "--set", "environment.HF_TOKEN=hush-2", "--explain", "HF_TOKEN")
    assert "HF_TOKEN=${INFERLANE_SECRET_HF_TOKEN}" in told
    assert "hush" not in told


def test_an_allocation_shows_real_urls_and_leaves_the_runs_own_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, cluster = tmp_path / "nodes.yaml", tmp_path / "c.yaml"
    cluster.write_text("network_interface: eth1\n")
    lines = [f"  - {{name: node-{n}, addresses: {{eth1: '2001:db8::1{n}', eth0: 203.0.113.1{n}}}}}" for n in "12"]
    nodes.write_text("\n".join(["nodes:", *lines]))
    words = ["plan", QUICKSTART, "--allocation", str(nodes), "--cluster", str(cluster)]
    assert main([*words, "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["endpoint"] == "http://[2001:db8::11]:8000"
    assert plan["addresses"] == {"n0": "2001:db8::11", "n1": "2001:db8::12"}
    assert "{run.files}" in json.dumps(plan)
    assert main(words) == 0
    assert "  n1  2001:db8::12\n" in capsys.readouterr().out


def test_a_wrong_allocation_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("nodes:\n  - name: a\n    adress: 192.0.2.1\n")
    assert main(["plan", QUICKSTART, "--allocation", str(nodes)]) == 2
    assert f"{nodes}:3:5: nodes[0].adress: unknown key; did you mean 'address'?" in capsys.readouterr().err


def test_diff_of_a_recipe_with_itself_is_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", QUICKSTART, QUICKSTART]) == 0
    assert capsys.readouterr().out == "no difference\n"


def test_diff_and_plan_diff_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", ONE, TWO]) == 1
    first = capsys.readouterr().out
    assert main(["plan", ONE, "--diff", TWO]) == 1
    assert capsys.readouterr().out == first
    assert "+ added: prefill-1" in first


def test_diff_as_json_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", ONE, TWO, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["equal"], found["added"], found["removed"]) == (False, ["prefill-1"], ["decode-1"])
    change = {"block": "args", "name": "--host", "change": "changed", "before": "{n1.bind}", "after": "{n2.bind}"}
    assert change in found["changed"]["decode-0"]


def test_a_set_shows_against_the_file_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART, "--set", "engine.load_seconds=3", "--diff", QUICKSTART]) == 1
    assert "~ args --load-seconds: 3 -> 1" in capsys.readouterr().out


def test_a_saved_plan_and_a_run_folder_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", QUICKSTART, "--format", "json"]) == 0
    (tmp_path / "plan.json").write_text(capsys.readouterr().out)
    assert main(["diff", QUICKSTART, str(tmp_path / "plan.json")]) == 0
    assert main(["diff", str(tmp_path), QUICKSTART]) == 0


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("none.json", None, "no plan can be read there"),
        ("x.json", "{}", "not a plan of this version"),
        ("x.json", "no json", "not a plan of this version"),
    ],
)
def test_what_is_no_plan_is_a_usage_error(
    name: str, text: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["diff", QUICKSTART, str(tmp_path / name)]) == 2
    assert why in capsys.readouterr().err


def test_a_recipe_path_that_only_shapes_the_plan_is_explained_by_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(ROOT / "examples/quickstart.yaml"), "--explain", "roles.decode.workers"]) == 0
    assert "quickstart.yaml:23:" in capsys.readouterr().out
