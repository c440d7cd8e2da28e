"""Every example has a golden plan: commands, environment, ports and gates, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.planning import Shape, build_plan, decode, encode
from inferlane.planning.show import as_json
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare

ROOT = Path(__file__).parents[2]
RECIPES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.yaml") if path.parent.name != "clusters"
)
SITES = {
    "examples/sglang/mi355x-dsv4-1p1d.yaml": "examples/clusters/mi355x.yaml",
    "examples/sglang/h100-1p1d.yaml": "examples/clusters/h100.yaml",
}
CASES = [(recipe, None) for recipe in RECIPES] + list(SITES.items())


@pytest.mark.parametrize(("recipe", "cluster"), CASES)
def test_the_plan_of_an_example_is_the_golden_one(
    recipe: str, cluster: str | None, root: Path, update_golden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    prepared = prepare(Request(recipe, cluster), Plugins())
    text = as_json(prepared.plan(Shape())) + "\n"
    name = Path(recipe).relative_to("examples").with_suffix("").as_posix().replace("/", "--")
    golden = root / "tests/golden/plans" / f"{name}{'--site' if cluster else ''}.json"
    if update_golden:
        golden.write_text(text)
    assert golden.exists(), f"no golden plan; write it with --update-golden and read it: {golden.name}"
    assert text == golden.read_text()


@pytest.mark.parametrize(("recipe", "cluster"), CASES)
def test_an_example_has_nothing_to_warn_about(
    recipe: str, cluster: str | None, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    prepared = prepare(Request(recipe, cluster), Plugins())
    assert [line for line in prepared.notes(prepared.plan(Shape())) if "warning" in line] == []


def test_every_golden_plan_belongs_to_an_example(root: Path) -> None:
    expected = {Path(r).relative_to("examples").with_suffix("").as_posix().replace("/", "--") for r in RECIPES}
    expected |= {
        Path(r).relative_to("examples").with_suffix("").as_posix().replace("/", "--") + "--site" for r in SITES
    }
    assert {path.stem for path in (root / "tests/golden/plans").glob("*.json")} == expected


def test_planning_twice_gives_the_same_bytes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    prepared = prepare(Request("examples/sglang/mi355x-dsv4-1p1d.yaml"), Plugins())
    plans = [encode(build_plan(prepared.hidden, prepared.site, Shape(), Plugins())) for _ in range(2)]
    assert plans[0] == plans[1]
    assert encode(decode(plans[0])) == plans[0]


def test_the_bytes_do_not_depend_on_the_hash_seed(root: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "inferlane.cli.main",
        "plan",
        "examples/sglang/mi355x-r1-2p1d.yaml",
        "--format",
        "json",
    ]
    outputs = {
        subprocess.run(
            command, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
