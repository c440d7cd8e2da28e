"""What differs between two plans, by process and by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from inferlane.planning import Shape, bind
from inferlane.planning.allocation import Allocation, GivenNode
from inferlane.planning.diff import Change, as_text, compare, symbolic
from inferlane.testing.plans import plan_of, recipe_block

ROLES = {"prefill": {"nodes": 1, "workers": 2, "gpus": 4}, "decode": {"nodes": 1, "workers": 1, "gpus": 8}}


def sglang(roles: dict[str, dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return recipe_block("sglang", "sglang-router", roles or ROLES, **more)


def decode(**more: Any) -> dict[str, Any]:
    return sglang({**ROLES, "decode": {**ROLES["decode"], **more}})


def changes(before: dict[str, Any], after: dict[str, Any], process: str) -> list[Change]:
    return list(compare(plan_of(before), plan_of(after)).changed[process])


def test_a_plan_does_not_differ_from_itself() -> None:
    found = compare(plan_of(sglang()), plan_of(sglang()))
    assert (found.equal, found.run, found.changed) == (True, (), {})
    assert as_text(found, ("a", "b")) == "no difference"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"page-size": 64}, Change("args", "--page-size", "added", None, "64")),
        ({"page-size": 64}, {}, Change("args", "--page-size", "removed", "64", None)),
        ({"page-size": 64}, {"page-size": 32}, Change("args", "--page-size", "changed", "64", "32")),
        ({"x": 1, "y": 2}, {"x": 1, "y": 2}, None),
    ],
)
def test_arguments_are_compared_by_flag(before: dict[str, Any], after: dict[str, Any], expected: Change | None) -> None:
    found = compare(plan_of(decode(args=before)), plan_of(decode(args=after)))
    assert found.changed == ({"decode-0": (expected,)} if expected else {})


def test_variables_are_compared_by_name_and_removal_is_a_value() -> None:
    found = changes(decode(env={"A": "1", "B": "1"}), decode(env={"A": None, "C": "1"}), "decode-0")
    assert found == [
        Change("env", "A", "changed", "1", "removed"),
        Change("env", "B", "removed", "1"),
        Change("env", "C", "added", None, "1"),
    ]


def test_ports_masks_and_places_are_told_apart() -> None:
    found = changes(sglang(), sglang({**ROLES, "prefill": {"nodes": 1, "workers": 2, "gpus": 2}}), "prefill-1")
    assert [(change.block, change.name) for change in found] == [
        ("process", "placement"),
        ("mask", "CUDA_VISIBLE_DEVICES"),
    ]
    moved = changes(sglang(), sglang(ports={"sglang.nccl": 18000}), "decode-0")
    assert Change("ports", "nccl", "changed", "17500", "18000") in moved


def test_processes_and_gates_come_and_go() -> None:
    more = {**ROLES, "decode": {"nodes": 2, "workers": 2, "gpus": 8}}
    found = compare(plan_of(sglang()), plan_of(sglang(more)))
    assert (found.added, found.removed) == (("decode-1",), ())
    assert ("decode-1 is healthy", "added") in [(c.name, c.change) for c in found.run if c.block == "gates"]
    back = compare(plan_of(sglang(more)), plan_of(sglang()))
    assert (back.added, back.removed) == ((), ("decode-1",))


def test_a_gate_whose_line_stays_the_same_still_differs() -> None:
    recipe = sglang()
    plan = plan_of(recipe)
    router = next(gate for gate in plan.gates if gate.name == "router knows every worker")
    check = router.checks[0]
    other = msgspec.structs.replace(check, status=(200, 204))
    gates = [msgspec.structs.replace(g, checks=(other, *g.checks[1:])) if g is router else g for g in plan.gates]
    found = compare(plan, msgspec.structs.replace(plan, gates=tuple(gates)))
    assert [(change.block, change.change) for change in found.run] == [("gates", "changed")]
    assert '"status":[200,204]' in str(found.run[0].after)


def test_processes_with_the_same_changes_are_told_once() -> None:
    roles = {**ROLES, "prefill": {**ROLES["prefill"], "args": {"page-size": 64}}}
    text = as_text(compare(plan_of(sglang()), plan_of(sglang(roles))), ("a", "b"))
    assert text.endswith("\n\nprefill-0, prefill-1\n  + args --page-size: 64")


def test_only_the_lines_of_a_file_that_differ_are_shown() -> None:
    benchmark = {"type": "sa-bench", "isl": 64, "osl": 16, "concurrencies": "2"}
    before, after = sglang(benchmark=benchmark), sglang(benchmark={**benchmark, "isl": 128})
    found = [change for change in changes(before, after, "benchmark") if change.block == "file"]
    assert found == [Change("file", "load.json", "changed", '"isl": 64,', '"isl": 128,')]


def test_addresses_do_not_count_between_a_bound_plan_and_another() -> None:
    plan = plan_of(sglang(), shape=Shape())
    bound = []
    for first in ("192.0.2.1", "2001:db8::1"):
        given = Allocation(nodes=tuple(GivenNode(name=f"h{i}", address=f"{first}{i}") for i in range(2)))
        known = {name: value for name, value in given.known(8).items() if "gpu" not in name}
        bound.append(symbolic(bind(plan, known)))
    assert compare(bound[0], bound[1]).equal
    assert compare(symbolic(plan), bound[1]).equal


def test_the_folder_and_interpreter_of_a_run_do_not_count(tmp_path: Path) -> None:
    plan = plan_of(sglang(benchmark={"type": "sa-bench", "isl": 64, "osl": 16, "concurrencies": "2"}))
    addresses = {f"n{i}.{word}": f"192.0.2.{i}" for i in range(2) for word in ("ip", "host", "bind")}
    folder = tmp_path / "plan-20260101T000000Z-0a1b"
    folders = {f"run.{name}": f"{folder}/{name}" for name in ("files", "logs", "results")}
    run = bind(plan, {**addresses, **folders, "run.python": "/usr/bin/python3", "run.id": folder.name})
    assert not compare(symbolic(plan), symbolic(run, folder)).equal
    assert compare(symbolic(plan), symbolic(run, folder, "/usr/bin/python3")).equal


@pytest.mark.parametrize("name", ["name", "run", "0", "port", "decode"])
def test_a_copy_of_a_run_folder_may_be_called_as_something_in_the_plan(tmp_path: Path, name: str) -> None:
    plan = plan_of(sglang())
    run = bind(plan, {f"n{i}.{word}": f"192.0.2.{i}" for i in range(2) for word in ("ip", "host", "bind")})
    assert compare(symbolic(plan), symbolic(run, tmp_path / name)).equal


@pytest.mark.parametrize("address", ["", "n", '"', "0"])
def test_an_address_that_is_none_is_left_as_it_is(address: str) -> None:
    plan = msgspec.structs.replace(plan_of(sglang()), addresses={"n0": address})
    assert symbolic(plan).addresses == {"n0": address}


def test_workers_that_differ_alike_are_told_once_however_many_there_are() -> None:
    def length(workers: int) -> int:
        roles = {"agg": {"nodes": workers, "workers": workers, "gpus": 8}}
        plans = [plan_of(recipe_block("sglang", "sglang-router", roles, environment={"A": value})) for value in "12"]
        return len(as_text(compare(plans[0], plans[1]), ("a", "b")))

    assert length(64) < length(8) + 40
