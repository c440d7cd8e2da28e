"""The same lines, read by the table and by argparse itself: both accept, or both refuse."""

from __future__ import annotations

import argparse
import json
import random
from typing import Any, NoReturn

import pytest

from inferlane.flags import Flag, FlagTable, TableFile

FLAGS = (
    Flag(names=("--port", "-p"), type="int"),
    Flag(names=("--tp-size", "--tensor-parallel-size"), type="int"),
    Flag(names=("--bs-decode",), nargs="+", type="int"),
    Flag(names=("--bs-prefill",), nargs="+", type="float"),
    Flag(names=("--mode",), choices=("a", "b")),
    Flag(names=("--config",), type="json"),
    Flag(names=("--trust",), nargs=0),
    Flag(names=("-q",), nargs=0),
    Flag(names=("--log",), nargs="?"),
    Flag(names=("--urls",), nargs="*"),
    Flag(names=("--two",), nargs=2),
)
WORDS = (
    *("--port", "-p", "-p8", "--port=1", "--tp", "--tp=x", "--tensor", "--bs", "--bs-d", "--bs-decode", "--bs-prefill"),
    *("--mode", "--mode=c", "--config", "--trust", "--trust=1", "-q", "--log", "--log=", "--urls", "--two", "--two=1"),
    *("--none", "--none=1", "-x", "--t", "1", "2", "-1", "-0.5", "a", "b", "{}", "-", "", "two words", "-two words"),
)
TYPES: dict[str, Any] = {"int": int, "float": float, "json": json.loads, "str": str}


class Refusing(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def argparse_accepts(args: list[str]) -> bool:
    parser = Refusing(add_help=False)
    for flag in FLAGS:
        if flag.nargs == 0:
            parser.add_argument(*flag.names, action="store_true")
        else:
            nargs = None if flag.nargs == 1 else flag.nargs
            parser.add_argument(*flag.names, nargs=nargs, type=TYPES[flag.type], choices=flag.choices or None)
    try:
        parser.parse_args(args)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", range(2))
def test_table_and_argparse_agree(seed: int) -> None:
    table = FlagTable(TableFile(program="serve", version="1", flags=FLAGS, allow_abbrev=True))
    chosen = random.Random(seed)
    accepted = 0
    for _ in range(250):
        args = chosen.choices(WORDS, k=chosen.randint(1, 4))
        faults = [fault for fault in table.check(args) if fault.kind != "duplicate"]
        assert (not faults) == argparse_accepts(args), (args, faults)
        accepted += not faults
    assert 10 < accepted < 240
