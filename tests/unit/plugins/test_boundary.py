"""Answers are decoded into the type that the hook's own annotation names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from inferlane.api import EngineLayout, Gate, LogCheck, Part, Port, Problem, RouterLayout, TcpCheck
from inferlane.plugins.boundary import AnswerError, checked
from inferlane.plugins.contract import hooks


def test_a_list_of_values_becomes_a_tuple_of_equal_ones() -> None:
    gates = [
        Gate(name="g", before="traffic", checks=(TcpCheck(address="{n0.host}:1"), LogCheck(process="p", pattern="x")))
    ]

    assert checked("inferlane_engine_gates", gates) == tuple(gates)


def test_a_layout_survives_the_boundary() -> None:
    layout = EngineLayout(parts=(Part(ports=(Port(name="http", base=6100),)),), problems=(Problem(message="m"),))

    answer = checked("inferlane_engine_layout", layout)

    assert answer == layout
    assert answer is not layout


def test_a_mask_may_remove_names_and_may_be_read_only() -> None:
    assert checked("inferlane_visible_devices", MappingProxyType({"A": "0,1", "B": None})) == {"A": "0,1", "B": None}


@pytest.mark.parametrize(
    ("hook", "answer", "text"),
    [
        ("inferlane_engine_layout", RouterLayout(), "Expected `EngineLayout`, got `RouterLayout`"),
        ("inferlane_engine_gates", {}, "Expected `array`, got `dict`"),
        ("inferlane_engine_gates", "text", "Expected `array`, got `str`"),
        ("inferlane_engine_gates", [Problem(message="m")], "Expected `Gate`, got `Problem` - at `$[0]`"),
        ("inferlane_visible_devices", [("A", "0")], "Expected `object`, got `list`"),
        ("inferlane_visible_devices", {"A": 0}, "Expected `str | null`, got `int` - at `$[...]`"),
        ("inferlane_doctor", [None], "Expected `Finding`, got `NoneType` - at `$[0]`"),
    ],
)
def test_another_type_is_refused_with_its_place(hook: str, answer: Any, text: str) -> None:
    with pytest.raises(AnswerError) as caught:
        checked(hook, answer)
    assert str(caught.value) == text


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop

    with pytest.raises(AnswerError, match="recursion"):
        checked("inferlane_visible_devices", loop)


def test_the_object_of_a_launcher_passes_as_it_is() -> None:
    launcher = object()

    assert checked("inferlane_launcher", launcher) is launcher


def test_every_hook_has_an_answer_type_that_can_be_decoded() -> None:
    for name in hooks():
        if name != "inferlane_launcher":
            with pytest.raises(AnswerError):
                checked(name, object())
