"""Where processes listen: loopback on one node, the nodes' own addresses on several, never every interface."""

from __future__ import annotations

import re
from typing import Any

import pytest

from inferlane.planning import bind, encode
from inferlane.testing.plans import option, plan_of, recipe_block
from inferlane.values import Plan

ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
SERVICES = [{"type": "etcd"}, {"type": "nats"}]


def block(engine: str, router: str, *, nodes: int) -> dict[str, Any]:
    """Workers of both roles with a router, services and a load, on one node or on two."""
    decode = {"nodes": "colocate" if nodes == 1 else 1, "workers": 2, "gpus": 2}
    roles = {"prefill": {"nodes": 1, "workers": 2, "gpus": 2}, "decode": decode}
    load = {"type": "sa-bench", "isl": 8, "osl": 8, "concurrencies": 1}
    return recipe_block(engine, router, roles, services=SERVICES, benchmark=load)


def bound(recipe: dict[str, Any], *addresses: str) -> Plan:
    known = {
        f"n{index}.{word}": address
        for index, address in enumerate(addresses)
        for word in ("ip", "host", "bind", "name")
    }
    return bind(plan_of(recipe), known)


PARTS = [("sglang", "sglang-router"), ("sglang", "smg"), ("mock", "mock")]


@pytest.mark.parametrize(("engine", "router"), PARTS)
def test_one_node_shows_its_loopback_address_only(engine: str, router: str) -> None:
    plan = bound(block(engine, router, nodes=1), "127.0.0.1")
    assert set(ADDRESS.findall(encode(plan).decode())) == {"127.0.0.1"}
    assert {option(p, "--host") for p in plan.processes if p.kind in ("worker", "router")} == {"127.0.0.1"}


@pytest.mark.parametrize(("engine", "router"), PARTS)
def test_two_nodes_show_their_own_addresses_only_and_each_worker_its_own(engine: str, router: str) -> None:
    plan = bound(block(engine, router, nodes=2), "192.0.2.1", "192.0.2.2")
    assert set(ADDRESS.findall(encode(plan).decode())) == {"192.0.2.1", "192.0.2.2"}
    hosts = {process.name: option(process, "--host") for process in plan.processes if process.kind == "worker"}
    assert hosts == {
        "prefill-0": "192.0.2.1", "prefill-1": "192.0.2.1", "decode-0": "192.0.2.2", "decode-1": "192.0.2.2"
    }  # fmt: skip


@pytest.mark.parametrize("nodes", [1, 2])
def test_nothing_is_told_to_listen_on_every_interface(nodes: int) -> None:
    for engine, router in PARTS:
        words = [word for process in plan_of(block(engine, router, nodes=nodes)).processes for word in process.args]
        assert [word for word in words if re.search(r"0\.0\.0\.0|\[::\]|\*|localhost|^:\d", word)] == []


def test_an_engine_that_can_only_publish_on_every_interface_is_told_of() -> None:
    recipe = recipe_block("sglang", "sglang-router", {"agg": {"nodes": 1, "gpus": 1, "kv_events": True}})
    [warning] = plan_of(recipe).warnings
    assert warning.where == "roles.agg.kv_events"
    assert "on every interface" in warning.message
