"""``plan --allocation``: the shape of given nodes, and which address of each is advertised."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inferlane.allocation_file import load_allocation
from inferlane.errors import Refused
from inferlane.planning import bind, encode, tokens
from inferlane.planning.allocation import Allocation
from inferlane.testing.plans import option, plan_of, recipe_block

PAIR = recipe_block(
    "sglang", "sglang-router", {"prefill": {"nodes": 1, "gpus": 4}, "decode": {"nodes": 1, "gpus": 4}}, gpu="h100"
)


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def written(folder: Path, *nodes: dict[str, Any], **more: Any) -> str:
    file = folder / "nodes.json"
    file.write_text(json.dumps({"nodes": nodes, **more}))
    return str(file)


def two(folder: Path, first: str, second: str) -> Allocation:
    ends = {"eth0": "203.0.113.11", "eth1": first}, {"eth0": "203.0.113.12", "eth1": second}
    file = written(folder, node("node-a", addresses=ends[0]), node("node-b", addresses=ends[1]))
    return load_allocation(file, "eth1")


@pytest.mark.parametrize(
    ("first", "second", "host"),
    [("192.0.2.11", "192.0.2.12", "192.0.2.{}"), ("2001:db8::11", "2001:db8::12", "[2001:db8::{}]")],
)
def test_each_process_gets_the_address_of_its_own_node_on_the_interface(
    tmp_path: Path, first: str, second: str, host: str
) -> None:
    """BL-08: bare in bind arguments, bracketed in URLs, and no other address anywhere."""
    given = two(tmp_path, first, second)
    plan = bind(plan_of(PAIR, shape=given.shape(8)), given.known(8))
    assert [option(plan.process(name), "--host") for name in ("prefill-0", "decode-0")] == [first, second]
    router = plan.process("sglang-router")
    assert option(router, "--prefill").startswith(f"http://{host.format(11)}:")
    assert option(router, "--decode").startswith(f"http://{host.format(12)}:")
    assert plan.endpoint == f"http://{host.format(11)}:8000"
    assert not re.search(r"203\.0\.113|127\.\d|0\.0\.0\.0|localhost", encode(plan).decode())
    assert not [token for token in tokens(plan) if not token.startswith("run.") and not token.endswith(".shm")]


def test_a_node_without_the_interface_is_an_error_that_names_both(tmp_path: Path) -> None:
    file = written(
        tmp_path, node("node-a", addresses={"eth1": "192.0.2.11"}), node("node-b", addresses={"eth0": "203.0.113.12"})
    )
    with pytest.raises(Refused) as refused:
        load_allocation(file, "eth1")
    assert str(refused.value) == (
        f"{file}:1:69: nodes[1]: node-b: no interface 'eth1' (network_interface of the cluster file); it has eth0"
    )


def test_an_address_without_an_interface_does_not_stand_for_the_one_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"node-a: no interface 'eth1' .* it has no interface by name"):
        load_allocation(written(tmp_path, node("node-a", address="192.0.2.11")), "eth1")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "is a loopback address"),
        ("127.0.1.1", "is a loopback address"),
        ("::1", "is a loopback address"),
        ("::ffff:127.0.0.1", "is a loopback address"),
        ("0.0.0.0", "means all interfaces"),
        ("::", "means all interfaces"),
        ("192.0.2.11", "is also the address of nodes"),
        ("fe80::1", "has no address that other nodes can use"),
        ("2001:db8::1%eth0", "has no address that other nodes can use"),
        ("::ffff:192.0.2.11", "is also the address of nodes"),
        ("node-b.example", "does not appear to be an IPv4 or IPv6 address"),
    ],
)
def test_what_other_nodes_cannot_reach_is_never_advertised(tmp_path: Path, address: str, why: str) -> None:
    file = written(tmp_path, node("node-a", address="192.0.2.11"), node("node-b", address=address))
    with pytest.raises(Refused, match=f"nodes.1.: node-b: .*{why}"):
        load_allocation(file, None)


def test_one_node_may_be_reached_by_loopback_but_not_by_all_interfaces(tmp_path: Path) -> None:
    assert load_allocation(written(tmp_path, node("here", address="127.0.0.1")), None).nodes[0].address == "127.0.0.1"
    with pytest.raises(Refused, match="means all interfaces"):
        load_allocation(written(tmp_path, node("here", address="0.0.0.0")), None)


def test_of_several_interfaces_none_is_guessed(tmp_path: Path) -> None:
    file = written(tmp_path, node("node-a", addresses={"eth0": "203.0.113.11", "eth1": "192.0.2.11"}))
    with pytest.raises(Refused, match=r"which address. it has eth0, eth1; say network_interface"):
        load_allocation(file, None)


def test_ports_in_use_move_the_blocks_of_that_node_only(tmp_path: Path) -> None:
    free = plan_of(PAIR)
    taken = free.process("prefill-0").ports["http"].first
    nodes = node("a", address="192.0.2.1", ports_in_use=[taken]), node("b", address="192.0.2.2")
    plan = plan_of(PAIR, shape=load_allocation(written(tmp_path, *nodes), None).shape(8))
    assert plan.process("prefill-0").ports["http"].first == taken + 1
    assert plan.process("decode-0").ports == free.process("decode-0").ports


def test_device_words_of_each_node_are_bound_into_its_masks(tmp_path: Path) -> None:
    words = [[f"GPU-{name}{index}" for index in range(4)] for name in "ab"]
    nodes = [node(f"n-{i}", address=f"192.0.2.{i}", devices=some) for i, some in enumerate(words)]
    given = load_allocation(written(tmp_path, *nodes), None)
    plan = bind(plan_of(PAIR, shape=given.shape(8)), given.known(8))
    assert plan.process("prefill-0").mask["CUDA_VISIBLE_DEVICES"] == ",".join(words[0])
    assert plan.process("decode-0").mask["CUDA_VISIBLE_DEVICES"] == ",".join(words[1])


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([node("a", address="192.0.2.1")], "the recipe needs 2 nodes, 1 available"),
        ([node("a", address="192.0.2.1", devices=8), node("b", address="192.0.2.2", devices=2)], "2 available"),
    ],
)
def test_an_allocation_that_is_too_small_is_refused(tmp_path: Path, nodes: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(Refused, match=why):
        plan_of(PAIR, shape=load_allocation(written(tmp_path, *nodes), None).shape(8))


def test_all_faults_of_the_file_come_at_once_with_their_places(tmp_path: Path) -> None:
    file = written(
        tmp_path, node("a", adress="192.0.2.1"), node("b;rm", address="192.0.2.2", ports_in_use=[70000], devices="some")
    )
    with pytest.raises(Refused) as refused:
        load_allocation(file, None)
    lines = str(refused.value).splitlines()
    assert [line.split(": ", 1)[1] for line in lines] == [
        "nodes[0].adress: unknown key; did you mean 'address'?",
        "nodes[1].name: must hold letters, digits, spaces and _./:[]%@+=,~- only, not 'b;rm'",
        "nodes[1].ports_in_use[0]: must be a port number, from 1 to 65535, not 70000",
        "nodes[1].devices: must be a whole number, not 'some'",
    ]


def test_two_nodes_of_one_name_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, node("a", address="192.0.2.1"), node("a", address="192.0.2.2"))
    with pytest.raises(Refused, match=r"nodes\[1\]: 'a' is also the name of nodes\[0\]"):
        load_allocation(file, None)


def test_an_allocation_without_nodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"nodes: must list at least one node; write one item for each$"):
        load_allocation(written(tmp_path), None)


def test_the_allocation_that_the_documentation_shows_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/plan.md").read_text()
    shown = next(block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if block.startswith("nodes:"))
    (tmp_path / "nodes.yaml").write_text(shown)
    given = load_allocation(str(tmp_path / "nodes.yaml"), "eth1")
    assert [found.address for found in given.nodes] == ["192.0.2.11", "2001:db8::12"]
    assert given.shape(8).memory_bytes == 2 * 1024**4


@pytest.mark.parametrize(
    ("devices", "why"),
    [
        (10**9, "devices: must be from 0 to 1024, the most of one node, not 1000000000"),
        (-1, "devices: must be from 0 to 1024, the most of one node, not -1"),
        (["a", "b", "a"], "devices: 'a' stands twice; write each device once"),
        (["a,b"], "devices: 'a,b' holds a comma, which separates devices in a mask; write one word for each"),
    ],
)
def test_devices_that_no_node_has_are_refused(tmp_path: Path, devices: object, why: str) -> None:
    with pytest.raises(Refused, match=re.escape(why)):
        load_allocation(written(tmp_path, node("a", address="192.0.2.1", devices=devices)), None)
