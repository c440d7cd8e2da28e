"""What must hold for every case: same bytes, no overlap, a trace that costs nothing, linear growth."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from inferlane.planning import bind, decode, encode
from inferlane.plugins import Plugins
from inferlane.testing.plans import assert_ports_disjoint, held_ports, plan_of

NAMES = ["moriio", "nixl", "hybrid", "headless", "atom", "umbp", "trtllm", "dynamo"]
NAMES += ["stranger", "sidecar", "rank_servers", "mixed", "behind_proxy"]

DIGEST = """
import hashlib
from case_plugins.recipes import ALL
from inferlane.planning import encode
from inferlane.testing.plans import plan_of
whole = b"".join(encode(plan_of(make() | {"telemetry": {"enabled": True}})) for make in ALL.values())
print(hashlib.sha256(whole).hexdigest())
"""


def test_every_case_is_in_the_list(cases: Any) -> None:
    assert list(cases.ALL) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_made_twice_has_the_same_bytes(name: Any, cases: Any, case_site: Any) -> None:
    make = cases.ALL[name]
    assert encode(plan_of(make(), plugins=Plugins())) == encode(plan_of(make(), plugins=Plugins()))


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_survives_json(name: Any, plan: Any, cases: Any) -> None:
    made = plan(cases.ALL[name]())
    assert decode(encode(made)) == made
    assert encode(decode(encode(made))) == encode(made)


@pytest.mark.parametrize("name", NAMES)
def test_no_port_is_given_twice_on_a_node(name: Any, plan: Any, cases: Any) -> None:
    assert_ports_disjoint(plan(cases.ALL[name]()))


@pytest.mark.parametrize("name", NAMES)
def test_no_port_is_in_the_range_that_the_kernel_gives_out(name: Any, plan: Any, cases: Any) -> None:
    assert max(number for _, number, _ in held_ports(plan(cases.ALL[name]()))) < 32768


@pytest.mark.parametrize("name", NAMES)
def test_one_port_space_for_all_nodes_gives_every_number_once(name: Any, plan: Any, cases: Any) -> None:
    numbers = [number for _, number, _ in held_ports(plan(cases.ALL[name](), shared_ports=True))]
    assert len(numbers) == len(set(numbers))


def test_the_bytes_do_not_depend_on_the_hash_seed(case_site: Any) -> None:
    digests = set()
    for seed in ("1", "2", "3"):
        environ = {**case_site.environ(), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", DIGEST], env=environ, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_a_recipe_is_not_changed_by_planning_it(plan: Any, cases: Any) -> None:
    block, again = cases.umbp(), cases.umbp()
    plan(block)
    assert block == again


def test_a_trace_changes_no_byte_and_names_each_origin(cases: Any, case_site: Any) -> None:
    block = cases.umbp() | {"environment": {"A": "1"}}
    block["roles"]["prefill"]["env"] = {"A": "2", "B": None}
    cluster = {"environment": {"B": "0"}}
    told: dict[tuple[str, str], str] = {}
    traced = plan_of(block, cluster, trace=lambda process, name, origin, value: told.update({(process, name): origin}))
    assert encode(traced) == encode(plan_of(block, cluster))
    assert told["prefill-0", "env.A"] == "roles.prefill.env"
    assert told["decode-0", "env.A"] == "environment"
    assert told["prefill-0", "env.UMBP_STANDALONE_ADDRESS"] == "service case-umbp"
    assert told["prefill-0", "args.--tensor-parallel-size"] == "roles.prefill.args.tensor-parallel-size"
    assert "B" in traced.process("prefill-0").unset


def test_a_taken_port_moves_only_the_block_that_wanted_it(plan: Any, cases: Any) -> None:
    free, taken = plan(cases.moriio()), plan(cases.moriio(), in_use={"n0": (26002, 31000)})
    assert taken.process("prefill-0").ports["handshake"].first == 26003
    assert taken.process("decode-0").ports["handshake"].first == 26007
    assert taken.process("decode-0").ports["notify"] == free.process("decode-0").ports["notify"]
    assert taken.process("case-vllm-router").ports == free.process("case-vllm-router").ports


def test_a_taken_public_port_is_refused_naming_both(refusal: Any, cases: Any) -> None:
    [problem] = refusal(cases.moriio(), in_use={"n0": (8000,)})
    assert problem.message.startswith("port 8000 on n0: wanted by case-vllm-router.http, held by another program")
    assert problem.where == "frontend.port"


def test_a_block_steps_aside_for_a_pinned_port(plan: Any, cases: Any) -> None:
    made = plan(cases.stranger() | {"ports": {"case-stranger.http": 8000}})
    assert [made.process(name).ports["http"].first for name in ("mock", "agg-0", "agg-1")] == [8000, 8001, 8002]


def test_four_thousand_workers_are_planned_without_an_overlap(plan: Any, cases: Any) -> None:
    block = cases.stranger()
    block["roles"] = {"agg": {"nodes": 512, "workers": 4096, "gpus": 1}}
    made = plan(block)
    assert len(made.upstreams) == 4096
    assert len(made.processes) == 4097
    assert_ports_disjoint(made)
    known = {f"n{node}.{word}": f"10.0.{node // 256}.{node % 256}" for node in range(512) for word in ("host", "bind")}
    assert bind(made, known).upstreams[-1].url == "http://10.0.1.255:6107"
