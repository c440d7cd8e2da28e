"""tools/flag_table.py turns the long form into the compact one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from inferlane.flags import FlagTable, TableFile

TOOL = Path(__file__).parents[3] / "tools" / "flag_table.py"


def long_flag(name: str, **more: object) -> dict[str, object]:
    plain = {"flags": [name], "nargs": None, "type": "str", "choices": None, "repeatable": False, "positional": False}
    return {**plain, **more}


def test_the_compact_table_checks_what_the_long_one_says(tmp_path: Path) -> None:
    flags = [
        long_flag("--port", type="int"),
        long_flag("--mode", choices=["a"], hidden_aliases=["--kind"]),
        long_flag("--lower", type="lower", choices=["a"]),
        long_flag("--trust", nargs=0, type=None),
        long_flag("model", flags=[], positional=True),
    ]
    source, target = tmp_path / "long.json", tmp_path / "compact.json"
    source.write_text(json.dumps({"program": "serve", "version": "3", "allow_abbrev": True, "flags": flags}))
    subprocess.run([sys.executable, str(TOOL), str(source), str(target), "--underscores"], check=True)
    table = FlagTable(msgspec.json.decode(target.read_bytes(), type=TableFile))
    assert table.version == "3"
    assert table.check(["model", "--po", "1", "--kind", "a", "--lower", "A", "--trust"]) == ()
    assert [fault.kind for fault in table.check(["--port=x", "--mode", "b", "--trust=1"])] == [
        "value",
        "value",
        "surplus",
    ]
