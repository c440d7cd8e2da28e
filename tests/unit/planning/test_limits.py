"""What a slip of the keyboard may not do: take a machine's memory, or pass the check and fail the run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from inferlane.config import Cluster, Recipe
from inferlane.planning import build_plan
from inferlane.planning.shape import Shape
from inferlane.plugins import Plugins
from inferlane.testing.plans import problems_of, recipe_block
from inferlane.values import Plan

AGG = {"agg": {"nodes": 1, "gpus": 1}}


def recipe(**more: Any) -> dict[str, Any]:
    return {**recipe_block("mock", "mock", AGG), **more}


@pytest.mark.parametrize("key", ["nodes", "workers", "gpus"])
def test_sizes_that_nobody_has_are_refused_before_anything_is_counted_out(key: str) -> None:
    with pytest.raises(ValidationError, match="must be at most 65536"):
        Recipe.model_validate(recipe(roles={"agg": {"nodes": 1, "gpus": 1, key: 10**9}}))


def test_a_node_has_at_most_1024_gpus_in_both_files() -> None:
    with pytest.raises(ValidationError, match="must be at most 1024"):
        Recipe.model_validate(recipe(resources={"gpus_per_node": 10**9}))
    with pytest.raises(ValidationError, match="must be at most 1024"):
        Cluster.model_validate({"gpus_per_node": 10**9})


@pytest.mark.parametrize("path", ["", "hf:", " ", 'a"b', "a\\b", "{n0.ip}", "$(touch x)", "/data/\udcff"])
def test_a_model_path_that_no_run_could_use_is_refused_at_its_place(path: str) -> None:
    assert [problem.where for problem in problems_of(recipe(model={"path": path}))] == ["model.path"]


def planned(**more: Any) -> Plan:
    return build_plan(Recipe.model_validate(recipe(**more)), Cluster(), Shape(), Plugins())


@pytest.mark.parametrize("path", ["/data/my model", "hf:a/b-1.5", "${MODELS}/m"])
def test_usual_model_paths_are_planned(path: str) -> None:
    assert planned(model={"path": path}).processes


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"engine": "nope"}, "engine.type"),
        ({"frontend": {"type": "nope"}}, "frontend.type"),
        ({"services": [{"type": "nope", "name": "x"}]}, "services[0].type"),
        ({"benchmark": {"type": "no\npe"}}, "benchmark.type"),
    ],
)
def test_a_type_that_nobody_adds_is_refused_at_its_place_in_one_line(more: dict[str, Any], where: str) -> None:
    (problem,) = problems_of(recipe(**more))
    assert problem.where == where
    assert problem.message.startswith("no installed plugin adds")
    assert "\n" not in problem.message
