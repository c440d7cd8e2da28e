"""Turn the long form of a flag table (what was read out of a program's own parser) into the compact one plugins ship.

python tools/flag_table.py long.json plugins/x/src/inferlane_x/flags/serve.json [--underscores] [--dotted]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from inferlane.flags import Flag, TableFile

TYPES = {
    "int": "int",
    "_non_negative_int": "int",
    "u16": "int",
    "u32": "int",
    "u64": "int",
    "usize": "int",
    "i32": "int",
    "Option<i32>": "int",
    "float": "float",
    "f32": "float",
    "f64": "float",
    "loads": "json",
    "json_list_type": "json",
}
LITERAL = {None, "str", "int", "float", "_optional_type", "String", "Option<String>", "Backend"}
"""Types that leave a value as it is written, so that its choices can be compared with the text."""


def compact(flag: Mapping[str, Any]) -> Flag:
    """One flag of the long form."""
    return msgspec.convert(
        {
            "names": flag["flags"],
            "aliases": flag.get("hidden_aliases") or [],
            "nargs": _nargs(flag["nargs"]),
            "type": TYPES.get(flag["type"] or "", "str"),
            "choices": (flag["choices"] or []) if flag["type"] in LITERAL else [],
            "repeatable": flag["repeatable"],
        },
        type=Flag,
    )


def _nargs(value: object) -> int | str:
    if value is None:
        return 1
    text = str(value)
    return int(text) if text.isdigit() else text


def table(long: Mapping[str, Any], *, underscores: bool, dotted: bool) -> TableFile:
    """The whole table."""
    return TableFile(
        program=long["program"],
        package=long.get("package", ""),
        version=long["version"],
        allow_abbrev=long.get("allow_abbrev", False),
        underscores=underscores,
        dotted=dotted,
        positionals=sum(1 for flag in long["flags"] if flag["positional"]),
        flags=tuple(compact(flag) for flag in long["flags"] if not flag["positional"]),
    )


def text(file: TableFile) -> str:
    """The file, one flag a line."""
    head = msgspec.to_builtins(file)
    flags = head.pop("flags")
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    return "\n".join(["{", *lines, ' "flags": [', ",\n".join(f"  {json.dumps(flag)}" for flag in flags), " ]", "}", ""])


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--underscores", action="store_true", help="the program takes _ and - in flags as equal")
    parser.add_argument("--dotted", action="store_true", help="the program takes --flag.key value")
    options = parser.parse_args()
    long = json.loads(options.source.read_text())
    options.target.write_text(text(table(long, underscores=options.underscores, dotted=options.dotted)))


if __name__ == "__main__":
    main()
