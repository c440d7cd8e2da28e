"""A plugin's own faults, told with the paths of the recipe."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from inferlane.config import parse_block
from inferlane.errors import Refused


class Inner(BaseModel):
    """A block in a block."""

    model_config = ConfigDict(extra="forbid")
    token_limit: int = Field(default=1, ge=1)


class Toy(BaseModel):
    """A plugin's configuration."""

    model_config = ConfigDict(extra="forbid")
    type: str
    depth: int = 1
    mode: int | str | None = None
    inner: Inner = Inner()
    items: list[Inner] = []
    env: dict[str, str | None] = {}


def problems(**block: Any) -> dict[str, str]:
    with pytest.raises(Refused) as caught:
        parse_block(Toy.model_validate, block, "engine", model=Toy)
    return {problem.where: problem.message for problem in caught.value.problems}


def test_a_block_that_holds_is_the_plugins_value() -> None:
    assert parse_block(Toy.model_validate, {"type": "toy", "depth": 3}, "engine") == Toy(type="toy", depth=3)


def test_an_unknown_key_is_named_with_its_full_path_and_a_suggestion() -> None:
    found = problems(type="toy", dept=1, inner={"token_limt": 2}, items=[{}, {"x": 1}])
    assert found["engine.dept"] == "unknown key; did you mean 'depth'?"
    assert found["engine.inner.token_limt"] == "unknown key; did you mean 'token_limit'?"
    assert found["engine.items[1].x"] == "unknown key; known here: token_limit"


def test_wrong_values_are_told_in_plain_words() -> None:
    found = problems(depth="x", inner={"token_limit": 0}, env={"A": 8}, mode=[1])
    assert found["engine.type"] == "missing; the block needs this key"
    assert found["engine.depth"] == "must be a whole number, not 'x'"
    assert found["engine.inner.token_limit"] == "must be at least 1, not 0"
    assert found["engine.env.A"] == 'must be text; write "8"'
    assert found["engine.mode"] == "must be a whole number, not a list, or must be text, not a list"


def test_a_secret_is_masked() -> None:
    found = problems(type="toy", env={"HF_TOKEN": 4711, "API_KEY": ["4711"]})
    assert "4711" not in str(found)


def test_the_model_of_a_facade_is_found_by_itself() -> None:
    class Facade:
        class spec:  # noqa: N801
            config = Toy

        def parse(self, block: Any) -> Toy:
            return Toy.model_validate(block)

    with pytest.raises(Refused, match=r"engine\.dept: unknown key; did you mean 'depth'"):
        parse_block(Facade().parse, {"type": "toy", "dept": 1}, "engine")
