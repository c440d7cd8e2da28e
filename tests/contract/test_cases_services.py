"""Case (e) and the service shapes: two-stage readiness, exports, implied, declared and external services."""

from __future__ import annotations

from typing import Any

from inferlane.planning import bind
from inferlane.testing.plans import option, recipe_block
from inferlane.values import HttpCheck, Rows

RIVAL = """
from inferlane.api import *

PLUGIN_API = 1


@hookimpl
def inferlane_services():
    return [ServiceSpec(type="case-rival", summary="sets the same name", config=ServiceConfig)]


@hookimpl
def inferlane_service_command(service, process, run):
    return Command(program=("rival",))


@hookimpl
def inferlane_service_exports(service, process, run):
    return Export(env={"KV_MASTER": "elsewhere:1"}) if process.kind == "worker" else None
"""


def test_a_service_stands_once_on_each_node_of_a_role(plan: Any, cases: Any) -> None:
    made = plan(cases.umbp())
    stands = {p.name: p.slots[0].node.name for p in made.processes if p.type == "case-umbp"}
    assert stands == {"case-umbp-n0": "n0", "case-umbp-n1": "n1"}


def test_a_service_that_must_outlive_the_workers_starts_before_them_and_ends_after_them(plan: Any, cases: Any) -> None:
    made = plan(cases.umbp())
    service, worker = made.process("case-umbp-n0"), made.process("prefill-0")
    assert service.phase == "before_workers"
    assert service.tier > worker.tier
    assert service.critical == "startup"


def test_readiness_in_two_stages_is_two_gates(plan: Any, cases: Any) -> None:
    stages = [(gate.before, gate.name) for gate in plan(cases.umbp()).gates if "umbp" in gate.name]
    assert stages == [
        ("workers", "case-umbp-n0 accepts engines"),
        ("workers", "case-umbp-n1 accepts engines"),
        ("traffic", "case-umbp-n0 has registered its memory"),
        ("traffic", "case-umbp-n1 has registered its memory"),
    ]


def test_a_gate_names_the_line_that_means_never(plan: Any, cases: Any) -> None:
    gate = plan(cases.umbp()).gates[0]
    assert [(check.process, check.pattern) for check in gate.fail_on] == [("case-umbp-n0", "hipHostRegister failed")]


def test_each_receiver_is_told_of_the_instance_on_its_own_node(plan: Any, cases: Any) -> None:
    made = plan(cases.umbp())
    address = made.process("prefill-1").env["UMBP_STANDALONE_ADDRESS"]
    assert address == made.process("case-umbp-n1").args[0] == "unix://{n1.shm}/case-umbp-n1-sock/sa.grpc.sock"
    assert "UMBP_STANDALONE_ADDRESS" not in made.process("decode-0").env


def test_a_service_says_what_its_node_must_have(plan: Any, cases: Any) -> None:
    [need] = plan(cases.umbp()).process("case-umbp-n0").needs
    assert (need.kind, need.value) == ("memory_bytes", str(128 << 30))


def test_a_recipe_that_sets_an_exported_name_is_refused_naming_both(refusal: Any, cases: Any) -> None:
    block = cases.umbp()
    block["roles"]["prefill"]["env"] = {"UMBP_STANDALONE_ADDRESS": "unix:///elsewhere"}
    first = refusal(block)[0]
    assert first.where == "roles.prefill.env.UMBP_STANDALONE_ADDRESS"
    assert first.message.endswith("itself (service case-umbp); remove it here")


def test_a_service_refuses_a_fleet_that_it_cannot_serve(refusal: Any, cases: Any) -> None:
    block = cases.umbp()
    block["roles"]["prefill"] |= {"workers": 1, "gpus": 16, "args": {"tensor-parallel-size": 16}}
    assert [(problem.where, problem.message) for problem in refusal(block)] == [
        ("roles.prefill.gpus", "case-umbp serves prefill workers of one node; here each has 2")
    ]


def test_a_default_that_a_service_exports_yields_to_the_recipe(plan: Any, cases: Any) -> None:
    block = cases.moriio() | {"services": [{"type": "case-kv-master"}]}
    assert plan(block).process("decode-0").env["KV_LOCAL_HOST"] == "{n0.ip}"
    block["roles"]["decode"]["env"] = {"KV_LOCAL_HOST": None}
    decode = plan(block).process("decode-0")
    assert "KV_LOCAL_HOST" in decode.unset
    assert decode.env["KV_MASTER"] == "{n0.host}:8700"


def test_two_services_that_force_one_name_differently_are_refused_naming_both(
    refusal: Any, cases: Any, case_plugin: Any
) -> None:
    case_plugin("case-rival-1", "inferlane.services", "case-rival", RIVAL)
    block = cases.stranger() | {"services": [{"type": "case-kv-master"}, {"type": "case-rival"}]}
    message = refusal(block)[0].message
    assert message == "agg-0: service case-rival and service case-kv-master set KV_MASTER differently"


def test_a_router_brings_the_service_that_it_needs(plan: Any, cases: Any) -> None:
    made = plan(cases.dynamo())
    store = made.process("etcd")
    assert (store.phase, store.tier) == ("infra", 4)
    told = {made.process(name).env["ETCD_ENDPOINTS"] for name in ("prefill-0", "decode-0", "case-dynamo")}
    assert told == {"http://{n0.host}:2379"}


def test_a_declared_service_meets_the_request_and_keeps_its_settings(plan: Any, cases: Any) -> None:
    made = plan(cases.dynamo(services=[{"type": "etcd", "env": {"ETCD_LOG_LEVEL": "warn"}}]))
    assert [p.name for p in made.processes].count("etcd") == 1
    assert made.process("etcd").env["ETCD_LOG_LEVEL"] == "warn"


def test_an_external_service_has_gates_and_exports_and_no_process(plan: Any, cases: Any) -> None:
    made = plan(cases.dynamo(services=[{"type": "etcd", "external": "192.0.2.9"}]))
    assert not [p for p in made.processes if p.type == "etcd"]
    assert made.process("case-dynamo").env["ETCD_ENDPOINTS"] == "http://192.0.2.9:2379"
    check = made.gates[0].checks[0]
    assert isinstance(check, HttpCheck)
    assert check.url == "http://192.0.2.9:2379/health"


def test_two_askers_of_one_service_with_different_options_are_refused(
    refusal: Any, cases: Any, case_plugin: Any
) -> None:
    body = """
    @hookimpl
    def inferlane_engine_layout(engine, group, fleet):
        asked = ServiceRequest(type="etcd", options={"env": {"A": "1"}})
        return EngineLayout(parts=(Part(),), serving=Serving(port=None, health=None), services=(asked,))
    """
    case_plugin("case-asker-1", "inferlane.engines", "case-asker", body, speaks="case-dynamo")
    block = cases.dynamo()
    block["engine"] = "case-asker"
    [problem] = refusal(block)
    assert "ask for different 'etcd' services" in problem.message


def test_workers_without_a_url_are_counted_by_what_the_router_lists(plan: Any, cases: Any) -> None:
    made = plan(cases.dynamo())
    rows = [check.rows for check in made.gates[-1].checks if isinstance(check, HttpCheck)]
    assert [row.at_least for row in rows if row] == [2, 1, 1]
    assert rows[0] == Rows(path="instances", where={"endpoint": ("generate",), "component": ("prefill",)}, at_least=2)
    assert not [gate for gate in made.gates if gate.name.endswith("is healthy")]


def test_a_service_beside_each_worker_process_has_its_devices_and_its_socket(plan: Any, cases: Any) -> None:
    made = plan(cases.sidecar())
    helper, engine = made.process("case-gms-agg-0-1"), made.process("agg-0-1")
    assert helper.slots == engine.slots
    assert engine.args[-1] == f"{helper.dirs['sock']}/gms.sock"


def test_a_head_and_its_nodes_are_two_parts_of_one_service(plan: Any, cases: Any) -> None:
    made = plan(cases.sidecar())
    assert made.process("case-ray-node-n1").args == ("--address", "{n0.ip}:6379")
    assert made.process("agg-0-1").args[2:4] == ("--ray", "{n0.ip}:6379")


def test_a_job_may_be_services_only(plan: Any) -> None:
    services = [{"name": name, "command": "sleep 600"} for name in ("cache", "watcher")]
    made = plan(recipe_block(None, "none", {}, services=services))
    assert [p.name for p in made.processes] == ["cache", "watcher"]
    assert made.endpoint is None


def test_the_words_of_a_generic_service_are_its_own_and_no_flags_of_the_recipe(plan: Any) -> None:
    service = {"name": "cache", "command": "cache-server --port 7000", "args": ["--size", "1g"]}
    made = plan(recipe_block(None, "none", {}, services=[service]))
    assert made.process("cache").argv == ("cache-server", "--port", "7000", "--size", "1g")


def test_a_store_listens_at_an_ipv6_address_in_brackets(plan: Any, cases: Any) -> None:
    bound = bind(plan(cases.dynamo()), {"n0.host": "[2001:db8::7]", "n0.bind": "2001:db8::7"})
    assert option(bound.process("etcd"), "--listen-client-urls") == "http://[2001:db8::7]:2379"
