"""Case (d): blocks of derived ports, network cards by device, workers of one node."""

from __future__ import annotations

import json
from typing import Any

from inferlane.testing.plans import assert_ports_disjoint, option

CARDS = {"rdma_devices": [f"rdma{index}" for index in range(16)]}
WORKERS = ("prefill-0", "prefill-1", "decode-0", "decode-1")


def test_a_block_is_as_wide_as_the_ports_that_the_engine_derives(plan: Any, cases: Any) -> None:
    made = plan(cases.atom(), CARDS)
    transfers = [json.loads(option(made.process(name), "--kv-transfer-config")) for name in WORKERS]
    assert [transfer["handshake_port"] for transfer in transfers] == [25000, 25004, 25008, 25012]
    assert_ports_disjoint(made)


def test_data_parallel_ranks_widen_the_block(plan: Any, cases: Any) -> None:
    block = cases.atom()
    block["roles"]["prefill"]["args"]["dp"] = 2
    assert plan(block, CARDS).process("prefill-1").ports["handshake"].width == 8


def test_cards_are_named_where_the_engine_does_not_read_the_mask(plan: Any, cases: Any) -> None:
    transfer = json.loads(option(plan(cases.atom(), CARDS).process("decode-1"), "--kv-transfer-config"))
    assert transfer["ib_device"] == "rdma12,rdma13,rdma14,rdma15"


def test_unknown_cards_are_a_warning_that_says_where_to_list_them(plan: Any, cases: Any) -> None:
    warnings = plan(cases.atom()).warnings
    assert {warning.where for warning in warnings} == {"cluster:rdma_devices"}
    assert len(warnings) == len(WORKERS)


def test_a_mask_that_the_engine_reads_needs_no_cards(plan: Any, cases: Any) -> None:
    made = plan(cases.atom(), {"visible_devices_env": "HIP_VISIBLE_DEVICES"})
    assert not made.warnings
    assert "ib_device" not in option(made.process("decode-1"), "--kv-transfer-config")


def test_a_worker_that_owns_its_node_needs_no_cards(plan: Any, cases: Any) -> None:
    block = cases.atom(workers=1, gpus=16)
    block["roles"]["decode"]["nodes"] = 1
    assert not plan(block).warnings


def test_a_field_of_the_engines_own_block_reaches_its_plugin(plan: Any, cases: Any) -> None:
    assert not plan(cases.atom(transport="tcp")).warnings


def test_a_worker_of_two_nodes_is_refused_with_the_sum(refusal: Any, cases: Any) -> None:
    block = cases.atom(workers=1, gpus=8, gpus_per_node=4)
    for role in block["roles"].values():
        role["nodes"] = 2
    messages = {problem.where: problem.message for problem in refusal(block)}
    assert messages["roles.prefill.gpus"].startswith(
        "8 GPUs are 2 nodes of 4; engine 'case-atom' runs a worker on 1 node(s)"
    )


def test_more_devices_than_the_node_has_are_refused_with_both_numbers(refusal: Any, cases: Any) -> None:
    [problem] = refusal(cases.atom(gpus_per_node=8))
    assert "16 GPUs" in problem.message
    assert "1 node(s) of 8" in problem.message


def test_two_spellings_of_one_owned_argument_are_both_named(refusal: Any, cases: Any) -> None:
    block = cases.atom()
    block["roles"]["prefill"]["args"] = {"tensor_parallel_size": 4, "tp": 4}
    errors = [problem.where for problem in refusal(block, CARDS) if problem.severity == "error"]
    assert errors == ["roles.prefill.args.tensor_parallel_size", "roles.prefill.args.tp"]


def test_an_engine_that_spells_with_underscores_gets_its_arguments_as_written(plan: Any, cases: Any) -> None:
    args = plan(cases.atom(), CARDS).process("prefill-0").args
    assert "--kv_cache_dtype" in args
    assert "--no-enable_prefix_caching" in args


def test_a_routers_arguments_follow_those_of_the_plan(plan: Any, cases: Any) -> None:
    router = plan(cases.atom(), CARDS).process("case-atomesh")
    assert router.args[:4] == ("--backend", "atom", "--pd-disaggregation", "--prefill")
    assert router.args[-2:] == ("--policy", "random")
    assert [(need.kind, need.value) for need in router.needs] == [("program", "atomesh")]
