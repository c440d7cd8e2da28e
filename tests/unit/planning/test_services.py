"""Names, places and requests of services."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.planning import Shape, tokens
from inferlane.testing.plans import plan_of, problems_of, recipe_block
from inferlane.values import Plan, TcpCheck


def recipe(*services: dict[str, Any]) -> dict[str, Any]:
    roles = {"prefill": {"nodes": 2, "workers": 2, "gpus": 8}, "decode": {"nodes": 1, "gpus": 8}}
    return recipe_block("mock", "mock", roles, services=list(services))


def nodes_of(plan: Plan, type: str) -> list[str]:
    return [process.slots[0].node.name for process in plan.processes if process.type == type]


@pytest.mark.parametrize(
    ("place", "nodes"),
    [
        ({}, ["n0"]),
        ({"node": "head"}, ["n0"]),
        ({"node": "all"}, ["n0", "n1", "n2"]),
        ({"node": "prefill"}, ["n0", "n1"]),
        ({"node": "decode"}, ["n2"]),
        ({"node": "prefill", "per": "worker"}, ["n0", "n1"]),
    ],
)
def test_a_service_stands_where_it_is_placed(place: dict[str, str], nodes: list[str]) -> None:
    plan = plan_of(recipe({"name": "cache", "command": "sleep 600", "placement": place}))
    assert nodes_of(plan, "generic") == nodes


def test_a_service_for_a_role_that_the_recipe_lacks_is_refused_and_not_left_out() -> None:
    [problem] = problems_of(recipe({"name": "cache", "command": "sleep 600", "placement": {"node": "agg"}}))
    assert problem.where == "services[0]"
    assert problem.message == "'cache' would not run: it is placed on agg, and the recipe has no such workers"


@pytest.mark.parametrize("name", ["../../x", "a/b", "a b", ".hidden", "x" * 101, "a\nb"])
def test_a_name_that_cannot_be_a_file_name_is_refused(name: str) -> None:
    [problem] = problems_of(recipe({"name": name, "command": "sleep 600"}))
    assert problem.where == "services[0].name"


@pytest.mark.parametrize(
    ("name", "other"), [("decode-0", "roles.decode"), ("mock", "frontend"), ("benchmark", "the benchmark")]
)
def test_a_service_may_not_have_the_name_of_another_process(name: str, other: str) -> None:
    [problem] = problems_of(recipe({"name": name, "command": "sleep 600"}))
    assert problem.where == "services[0].name"
    assert problem.message == f"process '{name}' has the name of another ({other}); name it differently"


def test_a_service_without_a_name_has_that_of_its_type() -> None:
    assert plan_of(recipe({"command": "sleep 600"})).process("generic").program == ("sleep",)


def test_two_services_of_one_name_are_refused() -> None:
    one = {"name": "cache", "command": "sleep 600"}
    [problem] = problems_of(recipe(one, one))
    assert problem.where == "services[1].name"
    assert "two services are called 'cache'" in problem.message


def test_a_service_that_nobody_declared_does_not_replace_one_of_its_name() -> None:
    block = recipe({"name": "gpu-exporter", "command": "sleep 600"}) | {"telemetry": {"enabled": True}}
    [problem] = problems_of(block)
    assert problem.where == "services[0].name"
    assert "of types 'generic' and 'gpu-exporter'" in problem.message


def test_a_service_that_is_not_enabled_is_left_out() -> None:
    plan = plan_of(recipe({"name": "cache", "command": "sleep 600", "enabled": False}))
    assert not nodes_of(plan, "generic")


def test_a_service_starts_in_its_phase_and_its_gate_blocks_the_next() -> None:
    ready = {"name": "cache", "command": "cache", "start": "before_workers", "readiness": {"port": 7000}}
    plan = plan_of(recipe(ready))
    [gate] = [gate for gate in plan.gates if "cache" in gate.name]
    assert (plan.process("cache").phase, gate.before) == ("before_workers", "workers")


def test_the_port_that_a_service_says_is_kept_free_for_it() -> None:
    ready = {"name": "cache", "command": "cache", "readiness": {"port": 6100}}
    plan = plan_of(recipe(ready))
    assert plan.process("cache").ports["ready"].first == 6100
    assert plan.process("prefill-0").ports["http"].first == 6101


@pytest.mark.parametrize("command", ["", "  ", "cache 'unclosed", [], [""]])
def test_a_command_without_a_program_is_refused_at_its_own_line(command: Any) -> None:
    [problem] = problems_of(recipe({"name": "cache", "command": command}))
    assert problem.where == "services[0].command"


def test_a_base_for_a_port_that_the_run_has_not_is_a_warning_that_lists_them() -> None:
    plan = plan_of(recipe() | {"ports": {"mock.htpp": 7000, "mock.http": 7100}})
    [warning] = plan.warnings
    assert warning.where == 'ports."mock.htpp"'
    assert warning.message.endswith("there are mock.bootstrap, mock.http")
    assert plan.process("prefill-0").ports["http"].first == 7100


def external(host: str, **more: Any) -> dict[str, Any]:
    return recipe({"type": "etcd", "external": host}, {"name": "x", "command": "sleep 600"}) | more


@pytest.mark.parametrize(("host", "shown"), [("db.example", "db.example"), ("fd00::9", "[fd00::9]")])
def test_the_host_of_an_external_service_is_in_the_plan_and_nobody_has_to_bind_it(host: str, shown: str) -> None:
    plan = plan_of(external(host))
    assert plan.process("x").env["ETCD_ENDPOINTS"] == f"http://{shown}:2379"
    assert not [token for token in tokens(plan) if token.startswith("x_")]


def test_the_port_of_an_external_service_is_told_and_never_moved() -> None:
    shape = Shape(in_use={"n0": (2379, 12379)}, shared_ports=True)
    assert plan_of(external("db.example"), shape=shape).process("x").env["ETCD_ENDPOINTS"].endswith(":2379")
    moved = plan_of(external("db.example", ports={"etcd.client": 12379}), shape=shape)
    assert moved.process("x").env["ETCD_ENDPOINTS"].endswith(":12379")


@pytest.mark.parametrize("host", ["", "http://db", "db:2379", "a b", "{n0.ip}"])
def test_what_is_no_host_is_refused_at_the_external_service(host: str) -> None:
    [problem] = problems_of(external(host))
    assert problem.where == "services[0].external"


def test_two_external_services_whose_names_differ_by_signs_only_are_refused() -> None:
    blocks = [{"type": "etcd", "name": name, "external": host} for name, host in (("a-b", "h1"), ("a.b", "h2"))]
    [problem] = problems_of(recipe(*blocks))
    assert problem.where == "services[1].name"


def test_a_service_that_is_switched_off_needs_no_plugin() -> None:
    plan = plan_of(recipe({"type": "nobody-has-it", "enabled": False}))
    assert {process.kind for process in plan.processes} == {"worker", "router"}


@pytest.mark.parametrize("probe", [{"log": {"pattern": "up"}}, {"file": {"path": "/x"}}])
def test_a_probe_that_cannot_see_an_external_service_is_refused(probe: dict[str, Any]) -> None:
    block = {"name": "far", "command": "x", "external": "db.example", "readiness": probe}
    [problem] = problems_of(recipe(block))
    assert problem.message.startswith("an external service is seen at an address only")


def test_a_service_without_a_command_is_refused_unless_it_runs_elsewhere() -> None:
    recipe = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}}, services=[{"name": "x"}])
    assert [p.message for p in problems_of(recipe)] == ["has no command; write the program and its arguments"]
    recipe["services"] = [{"name": "x", "external": "192.0.2.7", "readiness": {"port": 7000}}]
    gate = next(gate for gate in plan_of(recipe).gates if gate.name == "x is ready")
    assert gate.checks == (TcpCheck(address="192.0.2.7:7000"),)


def test_keys_that_would_change_what_runs_are_refused_by_name() -> None:
    service = {"name": "x", "command": ["true"], "nodes": 2, "terminal": True, "placement": {"pool": "x"}}
    recipe = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}}, services=[service])
    assert {p.where for p in problems_of(recipe)} == {
        f"services[0].{k}" for k in ("nodes", "terminal", "placement.pool")
    }
