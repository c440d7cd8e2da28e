"""What the router's block says where no router is started."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.testing.plans import plan_of, recipe_block

ONE = {"agg": {"nodes": 1, "workers": 1, "gpus": 1}}


@pytest.mark.parametrize(
    "said",
    [{"args": {"policy": "random"}}, {"env": {"A": "b"}}, {"placement": {"node": "head"}}],
    ids=lambda s: next(iter(s)),
)
def test_what_has_no_effect_without_a_router_is_said(said: dict[str, Any]) -> None:
    [warning] = plan_of(recipe_block("mock", {"type": "none", **said}, ONE)).warnings
    assert warning.where == f"frontend.{next(iter(said))}"
    assert warning.message == "has no effect: 'none' starts no router here"


def test_a_router_that_is_started_takes_them_all() -> None:
    front = {"type": "mock", "env": {"A": "b"}, "placement": {"node": "head"}}
    made = plan_of(recipe_block("mock", front, ONE))
    assert not made.warnings
    assert made.process("mock").env == {"A": "b"}
