"""From what nodes say to their addresses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from inferlane.errors import RunFault
from inferlane.slurm.nodes import read_answers
from inferlane.slurm.survey import allocation


def _said(node: str, last: int, **more: Any) -> dict[str, Any]:
    two = {"lo": ["127.0.0.1"], "eth0": [f"10.0.0.{last}"], "ib0": ["fe80::1", f"10.9.0.{last}"]}
    return {"node": node, "interfaces": two, "route": f"10.0.0.{last}", "listening": [22, 6100], **more}


def test_the_named_interface_is_used_on_every_node() -> None:
    made = allocation([_said("a", 1), _said("b", 2)], "ib0")
    assert [(node.name, node.address, node.in_use) for node in made.nodes] == [
        ("a", "10.9.0.1", (22, 6100)),
        ("b", "10.9.0.2", (22, 6100)),
    ]


def test_without_one_it_is_the_address_that_reaches_the_others() -> None:
    assert [node.address for node in allocation([_said("a", 1), _said("b", 2)], None).nodes] == ["10.0.0.1", "10.0.0.2"]


def test_a_node_without_the_interface_is_named_with_those_it_has() -> None:
    odd = _said("b", 2, interfaces={"eth1": ["10.0.0.2"]})
    with pytest.raises(RunFault, match=r"b: no interface 'ib0' .* it has eth1"):
        allocation([_said("a", 1), odd], "ib0")


@pytest.mark.parametrize("route", ["127.0.1.1", "0.0.0.0", None])
def test_an_address_that_peers_cannot_reach_is_refused(route: str | None) -> None:
    with pytest.raises(RunFault, match="b: "):
        allocation([_said("a", 1), _said("b", 2, route=route)], None)


def test_banners_around_an_answer_are_passed_over() -> None:
    text = 'Welcome!\n{"no": "node"}\n[1]\n' + json.dumps({"node": "a", "x": 1}) + "\nbye\n"
    assert read_answers(text) == {"a": {"node": "a", "x": 1}}


def test_a_node_really_tells_its_addresses_ports_and_memory() -> None:
    argv = [sys.executable, "-m", "inferlane.slurm.node", "report", "127.0.0.1"]
    said = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert said["interfaces"]["lo"][0] == "127.0.0.1"
    assert said["route"] == "127.0.0.1"
    assert said["memory_bytes"] > 1 << 20
    assert all(isinstance(port, int) for port in said["listening"])
