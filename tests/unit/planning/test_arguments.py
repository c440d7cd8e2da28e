"""A recipe's arguments as flags, and the refusal of those that the plan owns."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.config import Model, Recipe
from inferlane.flags import Flag, FlagTable, TableFile
from inferlane.planning.arguments import flag_name, full_arguments, render
from inferlane.planning.flag_check import FlagCheck
from inferlane.values import ArgStyle, Command, Problem

DASHES = ArgStyle()


def merge(args: dict[str, Any], command: Command, owned: dict[str, str] | None = None, **more: Any) -> tuple[Any, ...]:
    problems: list[Problem] = []
    words = full_arguments(command, DASHES, owned or {}, args, "roles.agg.args", problems, **more)
    return words, problems


@pytest.mark.parametrize("text", ["--tp-size", "--tp_size", "tp-size", "tp_size", "--tp_size=8"])
def test_all_spellings_of_a_flag_compare_equal(text: str) -> None:
    assert flag_name(text) == "tp-size"


def test_true_is_a_bare_flag_and_false_and_null_leave_it_out() -> None:
    assert render({"a": True, "b": False, "c": None, "d": 0}, DASHES) == ["--a", "--d", "0"]


def test_names_are_sorted_and_dashed_or_kept_as_the_program_wants() -> None:
    args = {"tp_size": 8, "dp-size": 2}
    assert render(args, DASHES) == ["--dp-size", "2", "--tp-size", "8"]
    assert render(args, ArgStyle(dashes=False, sort=False)) == ["--tp_size", "8", "--dp-size", "2"]


def test_a_list_follows_its_flag_or_repeats_it() -> None:
    assert render({"bs": [1, 2]}, DASHES) == ["--bs", "1", "2"]
    assert render({"bs": [1, 2]}, ArgStyle(lists="repeat")) == ["--bs", "1", "--bs", "2"]


def test_a_mapping_is_compact_json_and_a_text_of_json_stays_as_it_is() -> None:
    text = '{"a": {"b": 1}}'
    assert render({"x": {"a": {"b": True}}, "y": text}, DASHES) == ["--x", '{"a":{"b":true}}', "--y", text]


def test_the_plans_arguments_come_first() -> None:
    words, problems = merge({"chunk": 4}, Command(program=("x",), args=("--port", "1")))
    assert words == ("--port", "1", "--chunk", "4")
    assert not problems


@pytest.mark.parametrize("key", ["tp-size", "tp_size", "--tp-size", "--tp_size"])
def test_an_argument_that_the_plan_emits_is_refused_in_every_spelling(key: str) -> None:
    _, [problem] = merge({key: 8}, Command(program=("x",), args=("--tp-size", "8")))
    assert problem.where == f"roles.agg.args.{key}"
    assert problem.message == "the plan sets --tp-size itself; remove it here"


@pytest.mark.parametrize("key", ["host", "--host"])
def test_an_argument_that_the_plugin_lists_is_refused_with_its_advice(key: str) -> None:
    _, [problem] = merge({key: "0.0.0.0"}, Command(program=("x",)), {"host": "it follows the node"})
    assert problem.message == "the plan sets --host itself; it follows the node"


TENSOR = Flag(names=("--tensor-parallel-size", "--tp"), aliases=("--tps",))
TABLE = FlagTable(TableFile(program="x", version="1", flags=(TENSOR, Flag(names=("--port",))), allow_abbrev=True))


@pytest.mark.parametrize("mode", ["warn", "off"])
@pytest.mark.parametrize("key", ["tp", "tps", "--tp", "tensor_parallel_size", "tensor-par", "tensor_par=4"])
def test_another_name_or_an_abbreviation_is_the_same_argument(
    key: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inferlane.planning.flag_check.load_flag_table", lambda _: TABLE)
    flags = FlagCheck(Recipe.model_construct(strict_flags=mode, identity=None, model=Model(path="m")))
    command = Command(program=("x",), args=("--tensor-parallel-size", "8"))
    words, [problem] = merge({key: 8}, command, usual=flags.usual("x:table"))
    assert problem.message == "the plan sets --tensor-parallel-size itself; remove it here"
    assert words == command.args


def test_a_key_with_dashes_in_front_is_the_flag_it_looks_like() -> None:
    assert render({"--page_size": 4}, DASHES) == ["--page-size", "4"]


def test_one_argument_in_two_spellings_is_refused() -> None:
    _, [problem] = merge({"tp-size": 8, "tp_size": 4}, Command(program=("x",)))
    assert problem.where == "roles.agg.args.tp_size"
    assert problem.message == "the same argument as 'tp-size'; keep one"


def test_null_takes_an_owned_argument_of_a_base_away_and_is_fine() -> None:
    words, problems = merge({"host": None}, Command(program=("x",)), {"host": "it follows the node"})
    assert words == ()
    assert not problems


def test_a_consumed_argument_is_neither_rendered_nor_refused() -> None:
    command = Command(program=("x",), args=("--name", "m"), consumed=("name",))
    words, problems = merge({"name": "m", "chunk": 4}, command)
    assert words == ("--name", "m", "--chunk", "4")
    assert not problems


def test_a_command_may_consume_them_all() -> None:
    words, _ = merge({"a": 1, "b": {"c": 2}}, Command(program=("x",), args=("--config", "f"), consumed=("*",)))
    assert words == ("--config", "f")


def test_a_negative_number_is_a_value_and_no_flag() -> None:
    words, problems = merge({"1": True}, Command(program=("x",), args=("--limit", "-1")))
    assert words == ("--limit", "-1", "--1")
    assert not problems
