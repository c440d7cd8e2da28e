"""``check``, ``plan``, ``run`` and ``rehearse`` on a file of several variants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from inferlane.cli.main import main
from inferlane.config.files import read
from inferlane.config.nodes import Node

FILE = """\
schema: 2
base:
  name: demo
  model: {path: hf:org/model}
  resources: {gpus_per_node: 8}
  engine: mock
  frontend: {type: mock}
  roles:
    prefill: {nodes: 1, workers: 1, gpus: 2}
    decode: {nodes: 1, workers: 1, gpus: 4}
override_wide:
  roles: {decode: {workers: 2}}
zip_override_scale:
  name: [small, large]
  roles: {prefill: {workers: [1, 4]}}
"""

Call = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command on ``v.yaml`` of the given text; answers status, stdout and the lines of stderr."""
    monkeypatch.chdir(tmp_path)

    def _call(command: str, *more: str, text: str = FILE, which: str = "") -> tuple[int, str, list[str]]:
        Path("v.yaml").write_text(text)
        status = main([command, f"v.yaml{which}", *more])
        captured = capsys.readouterr()
        return status, captured.out, captured.err.splitlines()

    return _call


def test_check_looks_at_every_variant(call: Call) -> None:
    assert call("check") == (
        0,
        "v.yaml:override_wide: ok: 3 worker process(es) on 2 node(s), 4 in all\n"
        "v.yaml:zip_override_scale[0]: ok: 2 worker process(es) on 2 node(s), 3 in all\n"
        "v.yaml:zip_override_scale[1]: ok: 5 worker process(es) on 2 node(s), 6 in all\n",
        [],
    )


def test_check_takes_globs_and_names_a_single_one_as_it_was_typed(call: Call) -> None:
    _, out, _ = call("check", which=":zip*")
    assert [line.split(": ")[0] for line in out.splitlines()] == [
        "v.yaml:zip_override_scale[0]",
        "v.yaml:zip_override_scale[1]",
    ]
    assert call("check", which=":*wide")[1].startswith("v.yaml:*wide: ok: ")


def test_a_fault_of_one_variant_names_it_and_the_others_are_still_told(call: Call) -> None:
    status, out, err = call("check", text=FILE.replace("{workers: 2}", "{wrkers: 2}"))
    assert status == 2
    assert err == ["error: v.yaml:12:20: roles.decode.wrkers: unknown key; did you mean 'workers'? [override_wide]"]
    assert out.count(": ok: ") == 2


def test_a_fault_of_the_base_is_told_once(call: Call) -> None:
    text = FILE.replace("  engine: mock", "  engin: mock").replace("{workers: 2}", "{wrkers: 2}")
    status, out, err = call("check", text=text)
    assert (status, out) == (2, "")
    assert err == [
        "error: v.yaml:6:3: engin: unknown key; did you mean 'engine'?",
        "error: v.yaml:12:20: roles.decode.wrkers: unknown key; did you mean 'workers'? [override_wide]",
    ]


def test_a_fault_of_the_base_that_some_variants_mend_names_the_others(call: Call) -> None:
    text = FILE.replace("workers: 1, gpus: 4", "workers: none, gpus: 4")
    _, out, err = call("check", text=text)
    assert len(err) == 1
    assert err[0].startswith("error: v.yaml:10:33: roles.decode.workers: ")
    assert err[0].endswith(" [zip_override_scale[0], zip_override_scale[1]]")
    assert out.startswith("v.yaml:override_wide: ok: ")


def test_faults_of_planning_and_of_the_blocks_come_with_those_of_reading(call: Call) -> None:
    text = FILE.replace("[1, 4]", "[1, 5]").replace("{workers: 2}", "{workers: 0}") + "overide_x: {name: y}\n"
    status, out, err = call("check", text=text)
    assert (status, out) == (2, "")
    assert [line.split(": ")[1:3] for line in err] == [
        ["v.yaml:9:15", "roles.prefill.nodes"],
        ["v.yaml:12:29", "roles.decode.workers"],
        ["v.yaml:16:1", "overide_x"],
    ]


def test_a_fault_of_many_variants_names_the_first_few(call: Call) -> None:
    names = ", ".join(f"n{index}" for index in range(9))
    workers = ", ".join(["1", *["5"] * 8])
    text = FILE.replace("[small, large]", f"[{names}]").replace("[1, 4]", f"[{workers}]")
    [line] = call("check", text=text)[2]
    assert line.endswith(" [zip_override_scale[1], zip_override_scale[2], zip_override_scale[3], "
                         "zip_override_scale[4] and 4 more]")  # fmt: skip


def test_a_fault_of_the_cluster_file_comes_once_with_those_of_the_recipe(call: Call, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("gpus_per_nod: 8\n")
    status, out, err = call("check", "--cluster", "site.yaml", text=FILE.replace("{workers: 2}", "{wrkers: 2}"))
    assert (status, out) == (2, "")
    assert [line.split(": ")[1] for line in err] == ["site.yaml:1:1", "v.yaml:12:20"]


def test_warnings_are_told_once_and_count_with_strict(call: Call) -> None:
    more = ("--set", "resources.gpu_type=mi9000")
    status, _, err = call("check", *more)
    assert status == 0
    assert len([line for line in err if "no plugin knows 'mi9000'" in line]) == 1
    assert call("check", "--strict", *more)[0] == 2


def test_edits_hold_in_every_variant(call: Call) -> None:
    _, out, _ = call("check", "--set", "roles.decode.workers=1", "--set", "roles.prefill.workers=1")
    assert out.count("ok: 2 worker process(es) on 2 node(s), 3 in all") == 3
    status, out, err = call("check", "--set", "roles.decode.wrkers=1")
    assert (status, out) == (2, "")
    assert err == ["error: --set: roles.decode.wrkers: unknown key; did you mean 'workers'?"]


def test_an_unset_needs_its_key_in_one_variant_only(call: Call) -> None:
    text = FILE.replace("{decode: {workers: 2}}", "{decode: {wrkers: 2}}")
    assert call("check", "--unset", "roles.decode.wrkers", text=text)[0] == 0
    status, _, err = call("check", "--unset", "roles.decode.gpu")
    assert status == 2
    assert err == ["error: --unset: roles.decode.gpu: is not set; did you mean 'gpus'?"]


def test_plan_shows_each_variant_below_its_name(call: Call) -> None:
    status, out, err = call("plan", which=":zip_override_scale")
    assert (status, err) == (0, [])
    assert [line for line in out.splitlines() if line.startswith("===")] == [
        "=== v.yaml:zip_override_scale[0] ===",
        "=== v.yaml:zip_override_scale[1] ===",
    ]
    assert out.index("small: org/model") < out.index("=== v.yaml:zip_override_scale[1]") < out.index("prefill-3")


def test_plan_as_json_is_one_object_of_variants(call: Call) -> None:
    plans = json.loads(call("plan", "--format", "json")[1])
    assert list(plans) == ["override_wide", "zip_override_scale[0]", "zip_override_scale[1]"]
    single = json.loads(call("plan", "--format", "json", which=":override_wide")[1])
    assert plans["override_wide"] == single


def test_plan_as_commands_has_a_comment_above_each_variant(call: Call) -> None:
    lines = call("plan", "--format", "commands")[1].splitlines()
    heads = [line for line in lines if line.startswith("# v.yaml:")]
    assert heads == ["# v.yaml:override_wide", "# v.yaml:zip_override_scale[0]", "# v.yaml:zip_override_scale[1]"]


def test_plan_explains_each_variant_from_the_item_it_uses(call: Call) -> None:
    text = FILE.replace("{workers: [1, 4]}", "{env: {A: [x, y]}}")
    _, out, _ = call("plan", "--explain", text=text, which=":zip*")
    assert "v.yaml:15:31" in out
    assert "v.yaml:15:34" in out


def test_plan_of_a_file_with_a_wrong_variant_shows_no_plan(call: Call) -> None:
    status, out, err = call("plan", "--format", "json", text=FILE.replace("[1, 4]", "[1, 5]"))
    assert (status, out) == (2, "")
    assert err == [
        "error: v.yaml:9:15: roles.prefill.nodes: 5 worker(s) of 2 GPUs need 2 node(s) of 8, but 1 stated "
        "[zip_override_scale[1]]"
    ]


@pytest.mark.parametrize("command", ["run", "rehearse"])
def test_what_runs_one_recipe_lists_the_variants_of_several(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.yaml").write_text(FILE)
    assert main([command, "v.yaml", "--dry-run"]) == 2
    assert capfd.readouterr().err == (
        "error: v.yaml: the file holds 3 variants; add one of these to its name: :base, :override_wide, "
        ":zip_override_scale[0], :zip_override_scale[1]\n"
    )


def test_a_missing_plugin_of_one_variant_ends_with_status_3_unless_another_is_wrong(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERLANE_DISABLE_PLUGINS", "sglang")
    text = FILE.replace("override_wide:\n", "override_wide:\n  engine: sglang\n")
    status, out, err = call("check", text=text)
    assert status == 3
    assert len(err) == 1
    assert err[0].startswith("error: engine 'sglang' ")
    assert err[0].endswith(" [override_wide]")
    assert out.count(": ok: ") == 2
    assert call("check", text=text.replace("[1, 4]", "[1, 5]"))[0] == 2


def test_a_name_that_cannot_select_is_the_only_fault_it_makes(call: Call) -> None:
    status, out, err = call("check", text=FILE.replace("override_wide", '"override_a b"'))
    assert status == 2
    assert [line.split(": ")[2] for line in err] == ["override_a b"]
    assert "override_a b" not in out


def test_an_allocation_is_read_once_for_all_variants(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"name": name, "address": f"192.0.2.{index}"} for index, name in enumerate("ab", 1)]
    Path("nodes.json").write_text(json.dumps({"nodes": nodes}))
    seen: list[str] = []

    def counted(path: Path, shown: str) -> Node:
        seen.append(shown)
        return read(path, shown)

    monkeypatch.setattr("inferlane.allocation_file.read", counted)
    status, out, _ = call("plan", "--allocation", "nodes.json")
    assert (status, seen) == (0, ["nodes.json"])
    assert out.count("=== v.yaml:") == 3
