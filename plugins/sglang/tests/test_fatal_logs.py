"""Which lines of a worker's log end a run: the plugin's, the recipe's, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.testing.plans import plan_of, problems_of, recipe_block

OWN = "Scheduler hit an exception"


def _recipe(check: dict[str, Any]) -> dict[str, Any]:
    return recipe_block("sglang", "sglang-router", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}}, health_check=check)


@pytest.mark.parametrize(
    ("check", "worker"),
    [
        ({}, (OWN,)),
        ({"fatal_log_markers": False}, ()),
        ({"extra_fatal_log_patterns": ["link down"]}, (OWN, "link down")),
        ({"fatal_log_markers": False, "extra_fatal_log_patterns": ["link down"]}, ("link down",)),
    ],
)
def test_the_recipe_adds_to_the_plugins_patterns_or_turns_them_off(
    check: dict[str, Any], worker: tuple[str, ...]
) -> None:
    found = {process.kind: process.fatal_log for process in plan_of(_recipe(check)).processes}
    assert found["worker"] == worker
    assert found["router"] == ()


def test_a_pattern_that_is_none_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression: missing \)"):
        problems_of(_recipe({"extra_fatal_log_patterns": ["("]}))
