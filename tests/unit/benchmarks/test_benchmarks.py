"""The benchmarks still do their work; how long it takes is no test's business."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "benchmarks"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recipes_of_many_recipes_can_all_be_planned(tmp_path: Path) -> None:
    many = loaded("many_recipes")
    rng = random.Random(2)
    files = [tmp_path / f"{index}.yaml" for index in range(24)]
    for index, file in enumerate(files):
        file.write_text(many.recipe(index, rng), encoding="utf-8")
    assert set(many.measure(files)) == {"load", "resolve", "plan"}


@pytest.mark.parametrize("make", ["many_workers", "with_flags", "one_worker"])
def test_every_way_to_grow_is_planned_bound_and_measured(make: str) -> None:
    scale = loaded("plan_scale")
    row = scale.measure(getattr(scale, make), 16, 1.0)
    assert row.size == 16
    assert row.peak > 0


def test_a_flood_of_log_is_followed_and_measured(capsys: pytest.CaptureFixture[str]) -> None:
    loaded("log_flood").main(1.0)
    said = capsys.readouterr().out
    assert "exit 1; every secret covered: True" in said
    assert "% of a core" in said
