"""What holds for every plan: random topologies, engines, routers, services, ports and shapes."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from inferlane.config import Cluster, load_recipe
from inferlane.config.dump import dump
from inferlane.config.nodes import Mark, grown
from inferlane.errors import Refused
from inferlane.planning import Shape, build_plan, decode, encode
from inferlane.planning.placement import Wish, check_totals, nodes_per_worker, place
from inferlane.planning.ports import HIGHEST
from inferlane.plugins import Plugins
from inferlane.testing.plans import assert_ports_disjoint, held_ports, plan_of, recipe_block
from inferlane.values import FileCheck, Group, HttpCheck, LogCheck, Node, Plan, PluginCheck, TcpCheck

PROFILE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
ROUTERS = {"mock": ["mock", "none"], "sglang": ["sglang-router", "smg", "sglang", "none"]}
PORTS = {
    "mock": ["mock.http", "mock.bootstrap"],
    "sglang": ["sglang.http", "sglang.nccl", "sglang.dist_init", "sglang.bootstrap", "sglang.kv_events"],
}
COMMON = [5200, 6100, 7200, 8000, 8300, 9400, 17500, 29000, 32766, 32767]
BOTH = (operator.itemgetter(0), operator.itemgetter(1))
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

common_ports = st.one_of(
    st.sampled_from(COMMON), st.builds(lambda base, step: base + step, st.sampled_from(COMMON[:8]), st.integers(0, 40))
)
switches = st.booleans()


@st.composite
def role_blocks(draw: st.DrawFn, engine: str, per_node: int, role: str) -> dict[str, Any]:
    """One role; mostly one that fits the nodes it states."""
    over = [per_node * draw(st.integers(2, 3))] if engine == "sglang" else []
    gpus = draw(st.one_of(st.integers(1, per_node), st.sampled_from([*over, per_node])))
    workers = draw(st.integers(1, 5))
    need = workers * nodes_per_worker(gpus, per_node)
    least = -(-workers // max(1, per_node // gpus)) if gpus <= per_node else need
    block: dict[str, Any] = {
        "workers": workers,
        "gpus": gpus,
        "nodes": draw(st.sampled_from([least, need, 1, need + 2])),
    }
    if draw(st.integers(0, 9)) == 0:
        block |= {"gpus": None, "nodes": workers}
        gpus = per_node
    if engine == "sglang":
        block["args"] = {"tp-size": gpus}
        if draw(switches):
            inside = draw(st.integers(0, 4)) > 0
            block["args"] |= {"dp-size": draw(st.sampled_from([1, 2, gpus])), "enable-dp-attention": inside}
        block["kv_events"] = draw(switches)
    block["env"] = draw(st.dictionaries(st.sampled_from(["A", "NCCL_IB_HCA", "PATH"]), st.none() | st.just("1")))
    return block


@st.composite
def services(draw: st.DrawFn) -> dict[str, Any]:
    """One service, of those that every installation has."""
    kind = draw(st.sampled_from(["etcd", "nats", "generic", "generic"]))
    block: dict[str, Any] = {"type": kind, "name": draw(st.sampled_from(["a", "b", "c", "etcd"]))}
    if kind != "generic":
        return block if draw(switches) else {**block, "external": "10.0.0.9"}
    block |= {"command": ["sleep", "9"], "start": draw(st.sampled_from(["infra", "with_workers", "after_frontend"]))}
    node = draw(st.sampled_from(["head", "prefill", "decode", "agg", "workers", "all"]))
    block["placement"] = {"node": node, "per": draw(st.sampled_from(["node", "worker"]))}
    ready = draw(st.sampled_from(["none", "port", "http", "log", "file"]))
    probes: dict[str, Any] = {"http": {"port": 9400}, "log": {"pattern": "up"}, "file": {"path": "/x"}, "port": 9401}
    return block if ready == "none" else {**block, "readiness": {ready: probes[ready]}}


@st.composite
def recipes(draw: st.DrawFn) -> dict[str, Any]:
    """A recipe that may hold or not."""
    engine = draw(st.sampled_from(["mock", "sglang"]))
    per_node = draw(st.integers(1, 16))
    form = draw(st.sampled_from(["agg", "pairs", "colocated"]))
    names = ["agg"] if form == "agg" else ["prefill", "decode"]
    roles = {name: draw(role_blocks(engine, per_node, name)) for name in names}
    if form == "colocated":
        shared = roles["prefill"]["nodes"] + draw(st.integers(0, roles["decode"]["nodes"]))
        roles["prefill"]["nodes"], roles["decode"]["nodes"] = shared, "colocate"
    router: dict[str, Any] = {"type": draw(st.sampled_from(ROUTERS[engine]))}
    if draw(switches):
        router["port"] = draw(common_ports)
    if form != "agg" and draw(switches):
        router["placement"] = {"node": "first_decode"}
    more: dict[str, Any] = {
        "services": draw(st.lists(services(), max_size=3, unique_by=lambda block: block.get("name"))),
        "ports": dict(
            draw(st.lists(st.tuples(st.sampled_from(PORTS[engine]), common_ports), max_size=2, unique_by=BOTH))
        ),
        "telemetry": {"enabled": draw(switches)},
        "environment": {"A": "0"} if draw(switches) else {},
    }
    block = recipe_block(engine, router, roles, draw(st.sampled_from(["h100", "mi300x"])), per_node, **more)
    block["resources"]["spread_workers"] = draw(st.integers(0, 3)) == 0
    return block


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """An allocation; other programs may hold ports that we would like."""
    nodes = st.sampled_from([f"n{index}" for index in range(4)])
    taken = st.lists(common_ports, max_size=6, unique=True).map(tuple)
    return Shape(
        in_use=draw(st.dictionaries(nodes, taken, max_size=3)),
        shared_ports=draw(switches),
        masked=draw(switches),
        devices=draw(st.none() | st.integers(1, 16)) if draw(st.integers(0, 4)) == 0 else None,
    )


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipes")


def planned(recipe: dict[str, Any], shape: Shape, plugins: Plugins) -> Plan:
    """The plan; a recipe that cannot be planned must say why, and is not looked at further."""
    try:
        plan = plan_of(recipe, shape=shape, plugins=plugins)
    except Refused as refused:
        errors = [problem for problem in refused.problems if problem.severity == "error"]
        assert errors
        assert all(problem.message.strip() and "\n" not in problem.message for problem in errors)
        event("refused")
        assume(False)
        raise
    event(f"planned for {recipe['engine']}")
    return plan


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_no_device_is_given_twice_and_every_worker_gets_what_it_asked(
    plugins: Plugins, recipe: dict[str, Any], shape: Shape
) -> None:
    plan = planned(recipe, shape, plugins)
    owners: dict[tuple[str, int], str] = {}
    got: defaultdict[tuple[str, int], int] = defaultdict(int)
    for process in plan.processes:
        if process.kind != "worker":
            continue
        got[str(process.role), int(process.worker or 0)] += sum(len(slot.gpus) for slot in process.slots)
        for slot in process.slots:
            assert all(0 <= gpu < plan.gpus_per_node for gpu in slot.gpus)
            for gpu in slot.gpus:
                assert owners.setdefault((slot.node.name, gpu), process.name) == process.name
    for role, block in recipe["roles"].items():
        counts = [count for (name, _), count in got.items() if name == role]
        assert len(counts) == block["workers"]
        if recipe["engine"] == "sglang":
            wanted = block.get("gpus") or block["nodes"] * plan.gpus_per_node // block["workers"]
            assert counts == [wanted] * block["workers"]


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_ports_are_disjoint_on_each_node_free_and_below_the_systems_range(
    plugins: Plugins, recipe: dict[str, Any], shape: Shape
) -> None:
    plan = planned(recipe, shape, plugins)
    assert_ports_disjoint(plan)
    seen: dict[int, str] = {}
    for node, number, owner in held_ports(plan):
        assert 1024 <= number <= HIGHEST, owner
        used = [n for name, ns in shape.in_use.items() if shape.shared_ports or name == node for n in ns]
        assert number not in used, f"{owner} takes {number} on {node}, which another program holds"
        if shape.shared_ports:
            assert seen.setdefault(number, owner) == owner


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_the_same_input_gives_the_same_bytes_also_read_back(
    plugins: Plugins, recipe: dict[str, Any], shape: Shape
) -> None:
    plan = planned(recipe, shape, plugins)
    text = encode(plan)
    assert encode(planned(msgspec.json.decode(msgspec.json.encode(recipe)), shape, plugins)) == text
    assert decode(text) == plan
    assert encode(decode(text)) == text


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_a_recipe_in_a_file_gives_the_same_bytes(
    plugins: Plugins, folder: Path, recipe: dict[str, Any], shape: Shape
) -> None:
    plan = planned(recipe, shape, plugins)
    file = folder / "recipe.yaml"
    file.write_text(dump(grown(recipe, Mark(str(file)))), encoding="utf-8")
    assert encode(build_plan(load_recipe(str(file)).recipe, Cluster(), shape, plugins)) == encode(plan)


def test_what_was_planned_before_leaves_no_trace_in_a_plan() -> None:
    fresh, used = Plugins(), Plugins()
    plan_of(recipe_block("sglang", "smg", {"agg": {"nodes": 1, "gpus": 1}}), plugins=used)
    mock = recipe_block("mock", "mock", {"agg": {"nodes": 1, "gpus": 1}})
    assert encode(plan_of(mock, plugins=used)) == encode(plan_of(mock, plugins=fresh))


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_packing_uses_no_more_nodes_than_stated(plugins: Plugins, recipe: dict[str, Any], shape: Shape) -> None:
    plan = planned(recipe, shape, plugins)
    stated = {role: block["nodes"] for role, block in recipe["roles"].items() if block["nodes"] != "colocate"}
    assert len(plan.nodes) == sum(stated.values())
    used: defaultdict[str, set[str]] = defaultdict(set)
    for process in plan.processes:
        if process.kind == "worker":
            used[str(process.role)] |= {slot.node.name for slot in process.slots}
    assert set().union(*used.values()) <= {node.name for node in plan.nodes}
    assert all(len(used[role]) <= nodes for role, nodes in stated.items())
    if len(stated) == 2:
        assert used["prefill"].isdisjoint(used["decode"])


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_every_gate_names_processes_and_upstreams_that_exist(
    plugins: Plugins, recipe: dict[str, Any], shape: Shape
) -> None:
    plan = planned(recipe, shape, plugins)
    names = {process.name for process in plan.processes}
    urls = {upstream.url for upstream in plan.upstreams}
    hosts = {node.host: node.name for node in plan.nodes}
    numbers = {(node, number) for node, number, _ in held_ports(plan)}
    assert {upstream.process for upstream in plan.upstreams} <= names
    for address in _addresses(plan, names, urls):
        host, _, port = address.rpartition(":")
        assert host == "10.0.0.9" or (hosts[host], int(port)) in numbers, address


def _addresses(plan: Plan, names: set[str], urls: set[str | None]) -> Iterator[str]:
    """The ``host:port`` of every check; what a check names otherwise is judged here."""
    for gate in plan.gates:
        assert gate.checks
        for check in (*gate.checks, *gate.fail_on):
            match check:
                case LogCheck() | FileCheck():
                    assert check.process in names
                case TcpCheck():
                    yield check.address
                case HttpCheck() | PluginCheck():
                    yield check.url.removeprefix("http://").partition("/")[0]
            if isinstance(check, HttpCheck) and check.rows is not None:
                assert set(check.rows.values) <= urls
                assert check.rows.at_least >= len(check.rows.values)


@PROFILE
@given(recipe=recipes(), shape=shapes())
def test_every_variable_is_text_and_no_mask_is_empty(plugins: Plugins, recipe: dict[str, Any], shape: Shape) -> None:
    plan = planned(recipe, shape, plugins)
    for process in plan.processes:
        assert all(VARIABLE.fullmatch(name) and isinstance(value, str) for name, value in process.env.items())
        assert all(isinstance(word, str) for word in process.argv)
        assert not set(process.env) & set(process.unset)
        assert len(process.slot_env) in (0, len(process.slots))
        for slot, mask in zip(process.slots, process.slot_env, strict=False):
            assert len(mask) == 1
            assert not set(mask) & {*process.env, *process.unset}
            assert len(next(iter(mask.values())).split(",")) == len(slot.gpus) > 0
        if any(slot.gpus and (shape.masked or len(slot.gpus) < plan.gpus_per_node) for slot in process.slots):
            assert process.slot_env or process.kind != "worker"


@st.composite
def wishes(draw: st.DrawFn) -> tuple[int, list[Wish]]:
    """Roles of any size, as a planner gets them once totals are checked or not."""
    per_node = draw(st.integers(1, 16))
    found = []
    for role in ("prefill", "decode", "agg"):
        gpus = draw(st.integers(1, per_node) | st.integers(1, 4).map(lambda times: times * per_node))
        nodes = nodes_per_worker(gpus, per_node)
        workers = draw(st.integers(1, 9))
        group = Group(role=role, workers=workers, gpus=gpus, nodes=nodes, gpus_per_node=per_node, args={})
        stated = None if role == "decode" and draw(switches) else draw(st.integers(1, 40))
        found.append(Wish(group, stated))
    return per_node, found


@PROFILE
@given(wishes(), switches)
def test_workers_are_packed_whole_apart_and_within_their_nodes(wanted: tuple[int, list[Wish]], spread: bool) -> None:
    per_node, roles = wanted
    assume(not [p for p in check_totals(roles, per_node, spread) if p.severity == "error"])
    nodes = [Node(name=f"n{index}") for index in range(sum(wish.nodes or 0 for wish in roles))]
    placed, problems = place(roles, nodes, per_node, spread)
    given_out = [(slot.node.name, gpu) for worker in placed for slot in worker.slots for gpu in slot.gpus]
    assert len(given_out) == len(set(given_out))
    assert all(sum(len(slot.gpus) for slot in worker.slots) == worker.group.gpus for worker in placed)
    if not problems:
        assert len(placed) == sum(wish.group.workers for wish in roles)
    assert problems == [] or any(wish.nodes is None for wish in roles), "totals hold, so every role must fit"
