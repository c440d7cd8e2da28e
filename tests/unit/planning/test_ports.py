"""One allocator per node: first fit, pinned numbers, clashes that name both, one port space for all nodes."""

from __future__ import annotations

import random

import pytest

from inferlane.planning.ports import HIGHEST, PortClashError, PortMap
from inferlane.values import Port


def port(base: int, width: int = 1, pinned: bool = False) -> Port:
    return Port(name="p", base=base, width=width, pinned=pinned)


def test_the_first_block_is_at_its_base_and_the_next_behind_it() -> None:
    ports = PortMap({})
    assert [ports.take("n0", port(6100, 4), f"w{index}") for index in range(3)] == [6100, 6104, 6108]


def test_each_node_starts_at_the_base() -> None:
    ports = PortMap({})
    assert [ports.take(node, port(6100), "w") for node in ("n0", "n1")] == [6100, 6100]


def test_nodes_that_share_a_machine_share_its_ports() -> None:
    ports = PortMap({}, shared=True)
    assert [ports.take(node, port(6100), node) for node in ("n0", "n1")] == [6100, 6101]


def test_a_block_steps_over_a_number_in_the_middle_of_it() -> None:
    ports = PortMap({"n0": (26002,)})
    assert ports.take("n0", port(26000, 4), "prefill-0.handshake") == 26003


def test_a_block_fits_into_a_gap_that_is_wide_enough() -> None:
    ports = PortMap({"n0": (6104, 6110)})
    assert ports.take("n0", port(6100, 4), "a") == 6100
    assert ports.take("n0", port(6100, 5), "b") == 6105
    assert ports.take("n0", port(6100, 2), "c") == 6111


def test_two_pinned_claims_are_refused_naming_both() -> None:
    ports = PortMap({})
    ports.take("n0", port(8000, pinned=True), "one.a")
    with pytest.raises(PortClashError) as clash:
        ports.take("n0", port(8000, pinned=True), "two.b", where="ports.two.b")
    assert clash.value.problem.message == "port 8000 on n0: wanted by two.b, held by one.a; set another number"
    assert clash.value.problem.where == "ports.two.b"


def test_a_pinned_number_that_another_program_holds_is_refused() -> None:
    ports = PortMap({"n0": (8000,)})
    with pytest.raises(PortClashError, match=r"port 8000 on n0: wanted by router\.http, held by another program"):
        ports.take("n0", port(1), "router.http", pinned=8000)


def test_the_kernels_own_range_is_never_entered() -> None:
    ports = PortMap({})
    assert ports.take("n0", port(HIGHEST - 1), "a") == HIGHEST - 1
    assert ports.take("n0", port(HIGHEST - 1), "b") == HIGHEST
    with pytest.raises(PortClashError, match=f"no 1 free port.s. from {HIGHEST - 1} to {HIGHEST} on n0 for c"):
        ports.take("n0", port(HIGHEST - 1), "c")


def test_a_wide_block_that_would_cross_into_that_range_is_refused() -> None:
    with pytest.raises(PortClashError, match=r"no 8 free port\(s\)"):
        PortMap({}).take("n0", port(HIGHEST - 3, 8), "wide")


@pytest.mark.parametrize("seed", range(5))
def test_random_blocks_never_overlap(seed: int) -> None:
    rng = random.Random(seed)
    held = tuple(rng.sample(range(5000, 9000), 200))
    ports = PortMap({"n0": held})
    seen = dict.fromkeys(held, "another program")
    for index in range(1500):
        width = rng.randint(1, 9)
        first = ports.take("n0", port(rng.choice((5200, 5400, 5600, 6100, 7200)), width), f"o{index}")
        for number in range(first, first + width):
            assert number not in seen, f"{number}: {seen[number]} and o{index}"
            seen[number] = f"o{index}"
