"""Compressed lists of nodes, with the scheduler's own expansion and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.errors import RunFault
from inferlane.slurm.nodelist import expand, parse

TABLE = [
    (
        "ml-16-node-[001-002,004],ml-17-node-[001-003]",
        "ml-16-node-001 ml-16-node-002 ml-16-node-004 ml-17-node-001 ml-17-node-002 ml-17-node-003",
    ),
    ("b04-[09-10]", "b04-09 b04-10"),
    ("rack[0-1]_blade[0-1]", "rack0_blade0 rack0_blade1 rack1_blade0 rack1_blade1"),
    ("foo-m11-16", "foo-m11-16"),
    ("n[8-10]", "n8 n9 n10"),
    ("n1,n10", "n1 n10"),
    ("n[10,9,8]", "n10 n9 n8"),
]


@pytest.mark.parametrize(("text", "names"), TABLE)
def test_every_node_in_its_order_without_the_scheduler(tmp_path: Path, text: str, names: str) -> None:
    assert parse(text) == tuple(names.split())
    assert expand(text, {"PATH": str(tmp_path)}) == tuple(names.split())


def test_the_schedulers_own_expansion_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "scontrol"
    own.write_text('#!/bin/sh\n[ "$1 $2 $3" = "show hostnames odd[1-2]" ] && printf "odd2\\nodd1\\n"\n')
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert expand("odd[1-2]", {"PATH": f"{tmp_path}:/usr/bin:/bin"}) == ("odd2", "odd1")


@pytest.mark.parametrize("text", ["", ",", "n[", "n]", "n[a-b]", "n[1-", "n1,,n2", "n[]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(RunFault):
        parse(text)
