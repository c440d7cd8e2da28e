"""Which devices of which nodes: totals first, no overlap, sharing, spreading, sizes that do not divide."""

from __future__ import annotations

import random

import pytest

from inferlane.planning.placement import Placed, Wish, check_totals, nodes_per_worker, place
from inferlane.values import Group, Node

NODES = [Node(name=f"n{index}") for index in range(64)]


def wish(role: str, workers: int, gpus: int, nodes: int | None, gpus_per_node: int = 8) -> Wish:
    span = nodes_per_worker(gpus, gpus_per_node)
    group = Group(role=role, workers=workers, gpus=gpus, nodes=span, gpus_per_node=gpus_per_node, args={})
    return Wish(group, nodes)


def where(placed: list[Placed]) -> list[str]:
    """Each worker as ``role-worker: node[first-last]``."""
    lines = []
    for item in placed:
        shares = "+".join(f"{slot.node.name}[{slot.gpus[0]}-{slot.gpus[-1]}]" for slot in item.slots)
        lines.append(f"{item.group.role}-{item.worker}: {shares}")
    return lines


def test_workers_are_packed_left_to_right() -> None:
    placed, problems = place([wish("agg", 3, 4, 2)], NODES[:2], 8)
    assert where(placed) == ["agg-0: n0[0-3]", "agg-1: n0[4-7]", "agg-2: n1[0-3]"]
    assert not problems


def test_a_worker_is_never_split_over_a_partly_used_node() -> None:
    placed, _ = place([wish("agg", 3, 3, 2)], NODES[:2], 8)
    assert where(placed) == ["agg-0: n0[0-2]", "agg-1: n0[3-5]", "agg-2: n1[0-2]"]


def test_a_role_that_shares_goes_on_where_the_one_before_ended() -> None:
    placed, _ = place([wish("prefill", 1, 4, 1), wish("decode", 2, 2, None)], NODES[:1], 8)
    assert where(placed) == ["prefill-0: n0[0-3]", "decode-0: n0[4-5]", "decode-1: n0[6-7]"]


def test_a_role_with_nodes_of_its_own_starts_on_a_fresh_one() -> None:
    placed, _ = place([wish("prefill", 1, 4, 1), wish("decode", 1, 4, 1)], NODES[:2], 8)
    assert where(placed)[1] == "decode-0: n1[0-3]"


@pytest.mark.parametrize("gpus", [4, 8])
def test_nodes_that_a_role_states_and_leaves_empty_stay_its_own(gpus: int) -> None:
    placed, problems = place([wish("prefill", 1, gpus, 3), wish("decode", 1, 8, 1)], NODES[:4], 8)
    assert where(placed)[1] == "decode-0: n3[0-7]"
    assert not problems


def test_a_role_that_shares_may_fill_the_empty_nodes() -> None:
    placed, _ = place([wish("prefill", 1, 8, 2), wish("decode", 1, 8, None)], NODES[:2], 8)
    assert where(placed)[1] == "decode-0: n1[0-7]"


def test_a_worker_of_several_nodes_takes_whole_ones() -> None:
    placed, _ = place([wish("prefill", 1, 4, 1), wish("decode", 1, 16, 2)], NODES[:3], 8)
    assert where(placed)[1] == "decode-0: n1[0-7]+n2[0-7]"


def test_spread_workers_have_a_node_each() -> None:
    placed, _ = place([wish("agg", 2, 4, 2)], NODES[:2], 8, spread=True)
    assert where(placed) == ["agg-0: n0[0-3]", "agg-1: n1[0-3]"]


def test_spread_workers_that_fill_their_nodes_are_no_warning() -> None:
    assert check_totals([wish("agg", 2, 4, 2)], 8, spread=True) == []
    [problem] = check_totals([wish("agg", 2, 4, 1)], 8, spread=True)
    assert problem.message == "2 worker(s) of 4 GPUs need 2 node(s) of 8, but 1 stated"


def test_twelve_gpus_on_nodes_of_eight_are_six_on_each_of_two() -> None:
    asked = [wish("agg", 1, 12, 2)]
    placed, _ = place(asked, NODES[:2], 8)
    assert check_totals(asked, 8) == []
    assert where(placed) == ["agg-0: n0[0-5]+n1[0-5]"]


def test_gpus_that_do_not_divide_over_their_nodes_are_refused_with_the_numbers() -> None:
    [problem] = check_totals([wish("agg", 1, 9, 2)], 8)
    assert problem.where == "roles.agg.gpus"
    assert problem.message == "9 GPUs do not divide over 2 nodes of 8; give a worker a multiple of 8"


def test_more_workers_than_the_stated_nodes_hold_are_refused_before_any_is_placed() -> None:
    [problem] = check_totals([wish("prefill", 3, 8, 2)], 8)
    assert (problem.where, problem.severity) == ("roles.prefill.nodes", "error")
    assert problem.message == "3 worker(s) of 8 GPUs need 3 node(s) of 8, but 2 stated"


def test_nodes_that_stay_empty_are_a_warning() -> None:
    [problem] = check_totals([wish("decode", 1, 8, 3)], 8)
    assert problem.severity == "warning"
    assert "fill only 1; the others stay empty" in problem.message


def test_a_role_that_shares_and_does_not_fit_is_refused_with_the_sum() -> None:
    _, [problem] = place([wish("prefill", 1, 4, 1), wish("decode", 1, 8, None)], NODES[:1], 8)
    assert problem.where == "roles.decode"
    assert problem.message.startswith("the workers need 12 GPUs")


def test_no_device_is_given_twice_whatever_is_asked() -> None:
    rng = random.Random(7)
    for _ in range(300):
        per_node = rng.choice((4, 8))
        asked = [wish("prefill", rng.randint(1, 5), rng.randint(1, 16), rng.randint(1, 9), per_node)]
        asked.append(wish("decode", rng.randint(1, 5), rng.randint(1, 16), rng.choice((None, 2, 4)), per_node))
        placed, _ = place(asked, NODES[: rng.randint(1, 12)], per_node, spread=rng.random() < 0.2)
        taken = [(slot.node.name, gpu) for item in placed for slot in item.slots for gpu in slot.gpus]
        assert len(taken) == len(set(taken))
        assert all(gpu < per_node for _, gpu in taken)
