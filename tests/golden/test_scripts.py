"""The job scripts of two examples, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.planning import Shape
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare
from inferlane.slurm.script import render

CASES = {
    "mi355x-dsv4-1p1d": ("examples/sglang/mi355x-dsv4-1p1d.yaml", "examples/clusters/mi355x.yaml"),
    "h100-1p1d": ("examples/sglang/h100-1p1d.yaml", "examples/clusters/h100.yaml"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_script_of_an_example_is_the_golden_one(
    name: str, root: Path, update_golden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    prepared = prepare(Request(*CASES[name]), Plugins())
    run, python = Path("/shared/outputs/RUN"), "/opt/inferlane/bin/python"
    text = render(prepared.plan(Shape()), prepared.hidden, prepared.site, run, python)
    golden = root / "tests/golden/scripts" / f"{name}.sh"
    if update_golden:
        golden.write_text(text)
    assert text == golden.read_text()
