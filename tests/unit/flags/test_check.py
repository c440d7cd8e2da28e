"""Argument lists against a small table, by argparse's rules."""

from __future__ import annotations

import pytest

from inferlane.flags import Flag, FlagTable, TableFile

FLAGS = (
    Flag(names=("--port", "-p"), type="int"),
    Flag(names=("--tp-size", "--tensor-parallel-size"), type="int"),
    Flag(names=("--graph-bs-decode",), nargs="+", type="int"),
    Flag(names=("--graph-bs-prefill",), nargs="+", type="int"),
    Flag(names=("--mode",), choices=("a", "b")),
    Flag(names=("--fraction",), type="float"),
    Flag(names=("--config",), type="json"),
    Flag(names=("--trust",), nargs=0),
    Flag(names=("--log",), nargs="?"),
    Flag(names=("--urls",), nargs="*"),
    Flag(names=("--pair",), nargs="1-2", repeatable=True),
)


def table(**more: object) -> FlagTable:
    settings = {"allow_abbrev": True, **more}
    return FlagTable(TableFile(program="serve", version="1.2", flags=FLAGS, **settings))  # type: ignore[arg-type]


GOOD = {
    "a flag with its value": "--port 8000",
    "a value after an equals sign": "--port=8000",
    "a short flag": "-p 8000",
    "a short flag with its value attached": "-p8000",
    "another spelling": "--tensor-parallel-size 8",
    "a unique prefix": "--tp 8 --mod a",
    "a negative number": "--fraction -0.5",
    "many values": "--graph-bs-decode 1 2 4 --trust",
    "an optional value left out": "--log --trust",
    "an optional value": "--log file",
    "no values at all": "--urls",
    "JSON": '--config {"a":1}',
    "a flag that may repeat": "--pair x 1 --pair y",
}


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD.keys())
def test_accepts(line: str) -> None:
    assert table().check(line.split()) == ()


BAD = {
    "--prot 8": ("unknown", "--prot is not a flag of serve 1.2; did you mean --port?"),
    "--graph-bs 1 2": ("ambiguous", "--graph-bs is ambiguous: it could be --graph-bs-decode, --graph-bs-prefill"),
    "--port x": ("value", "--port: 'x' is not a whole number"),
    "--graph-bs-decode 1 x": ("value", "--graph-bs-decode: 'x' is not a whole number"),
    "--fraction=half": ("value", "--fraction: 'half' is not a number"),
    "--config {a": ("value", "--config: '{a' is not JSON"),
    "--mode c": ("value", "--mode: 'c' is not one of a, b"),
    "--port": ("missing", "--port needs a value, but has none"),
    "--port --trust": ("missing", "--port needs a value, but has none"),
    "--graph-bs-decode": ("missing", "--graph-bs-decode needs at least 1 value, but has none"),
    "--pair": ("missing", "--pair needs 1 to 2 values, but has none"),
    "--trust=1": ("surplus", "--trust takes no value, but has '1'"),
    "--trust 1": ("surplus", "'1' belongs to no flag"),
    "-- --port": ("surplus", "'--port' belongs to no flag"),
    "--port 1 -p 2": ("duplicate", "-p (and --port) is given twice: '--port 1', then '-p 2'; give it once"),
}


@pytest.mark.parametrize(("line", "fault"), BAD.items(), ids=BAD.keys())
def test_finds_the_fault(line: str, fault: tuple[str, str]) -> None:
    (found,) = table().check(line.split())
    assert (found.kind, found.message) == fault


def test_all_faults_are_found_at_their_places() -> None:
    found = table().check(["--nonsense", "5", "--port", "x", "--trust", "stray"])
    assert [(fault.index, fault.kind) for fault in found] == [(0, "unknown"), (2, "value"), (5, "surplus")]


def test_an_ambiguous_flag_names_its_candidates() -> None:
    (fault,) = table().check(["--graph-bs", "1"])
    assert fault.candidates == ("--graph-bs-decode", "--graph-bs-prefill")


def test_without_abbreviations_a_prefix_is_unknown() -> None:
    (fault,) = table(allow_abbrev=False).check(["--mod", "a"])
    assert fault.kind == "unknown"
    assert fault.candidates == ("--mode",)


def test_underscores_count_as_dashes_only_where_the_program_says_so() -> None:
    args = ["--tp_size", "8"]
    assert table(underscores=True).check(args) == ()
    assert table().check(args)[0].kind == "unknown"


def test_a_dotted_flag_sets_one_key_of_a_json_flag() -> None:
    args = ["--config.a", "1", "--config.b", "text"]
    assert table(dotted=True).check(args) == ()
    assert table().check(args)[0].kind == "unknown"


def test_positionals_are_taken_up_to_their_number() -> None:
    assert table(positionals=1).check(["model", "--trust"]) == ()
    (fault,) = table(positionals=1).check(["model", "more", "--trust"])
    assert fault.message == "'more' belongs to no flag"


def test_parse_gives_the_last_value_under_the_usual_spelling() -> None:
    parsed = table().parse(["--tensor-parallel-size", "4", "--tp", "8"])
    assert parsed.value("--tp-size") == "8"
    assert parsed.value("--port") is None
