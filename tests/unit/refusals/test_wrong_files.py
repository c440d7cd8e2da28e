"""Wrong recipes and cluster files, each refused with its place and a next step, word for word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferlane.cli.main import main

HERE = Path(__file__).parent
FAMILIES = sorted(HERE.glob("cases/*.yaml"))


def read(path: Path) -> list[Any]:
    return [pytest.param(case, id=f"{path.stem}: {case['name']}") for case in yaml.safe_load(path.read_text("utf-8"))]


def written(case: dict[str, Any]) -> list[str]:
    """The command for a case, whose files are written to the current folder."""
    text = case.get("recipe") or (HERE / "base.yaml").read_text("utf-8")
    for old, new in case.get("with", {}).items():
        assert old in text, f"nothing to change: {old}"
        text = text.replace(old, new)
    Path("recipe.yaml").write_text(text + case.get("add", ""), "utf-8")
    if "cluster" in case:
        Path("cluster.yaml").write_text(case["cluster"], "utf-8")
    cluster = ["--cluster", "cluster.yaml"] if "cluster" in case else []
    return ["check", "recipe.yaml", *cluster, *case.get("options", [])]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without any cluster file, and no variable that names one."""
    monkeypatch.chdir(tmp_path)
    for name in ("INFERLANE_CLUSTER", "SRTSLURM_CONFIG", "INFERLANE_DISABLE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("case", [case for path in FAMILIES for case in read(path)])
def test_a_wrong_file_is_refused_with_place_and_next_step(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(written(case)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.sub(r"installed: [^);\n]*", "installed: …", err) == case["says"]


@pytest.mark.parametrize("case", read(HERE / "accepted.yaml"))
def test_a_right_file_that_looks_wrong_is_accepted(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(written(case)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("recipe.yaml: ok: ")
    assert err == case.get("says", "")


def test_every_case_differs_from_the_others_and_all_say_where_something_is() -> None:
    cases = [case for path in FAMILIES for case in yaml.safe_load(path.read_text("utf-8"))]
    assert len(cases) >= 200
    assert len({str(case) for case in cases}) == len(cases)
    place = r"error: ((recipe|cluster)\.yaml(:\d+:\d+)?|--set|--unset): "
    assert [line for case in cases for line in case["says"].splitlines() if not re.match(place, line)] == []


def test_what_the_troubleshooting_page_quotes_of_the_base_is_said() -> None:
    said = {line for path in FAMILIES for case in yaml.safe_load(path.read_text("utf-8"))
            for line in case["says"].splitlines()}  # fmt: skip
    page = (HERE.parents[2] / "docs/troubleshooting.md").read_text("utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    own = ["Roles and sizes", "Ports", "Mounts", "Durations and numbers", "Names and variables"]
    quoted = [line for name in own for line in re.findall("^error: .*", sections[name], re.MULTILINE)]
    assert len(quoted) >= 12
    assert [line for line in quoted if line not in said] == []
