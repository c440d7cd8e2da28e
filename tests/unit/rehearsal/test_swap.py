"""A rehearsal changes programs and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from inferlane.errors import PluginFault, UsageFault
from inferlane.planning import Shape, bind
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.rehearsal import RehearsalOptions, orders, rehearse, scale_down
from inferlane.twins.orders import Orders
from inferlane.values import Plan

ROOT = Path(__file__).parents[3]


def prepared(recipe: str, *sets: str) -> Prepared:
    return prepare(
        Request(str(ROOT / "examples" / recipe), str(ROOT / "examples/clusters/mi355x.yaml"), sets), Plugins()
    )


def everything_installed(program: tuple[str, ...]) -> tuple[str, ...]:
    return ("real", *program)


def nothing_installed(program: tuple[str, ...]) -> None:
    return None


@pytest.mark.parametrize("recipe", ["quickstart.yaml", "sglang/mi355x-dsv4-1p1d.yaml", "sglang/mi300x-direct.yaml"])
def test_arguments_masks_and_ports_stay_the_same(recipe: str) -> None:
    plan = prepared(recipe).plan(Shape())
    swapped = rehearse(plan, RehearsalOptions(), everything_installed).plan
    for before, after in zip(plan.processes, swapped.processes, strict=True):
        assert (after.args, after.slot_env, after.ports) == (before.args, before.slot_env, before.ports)


def test_engines_become_twins_and_the_router_stays_real() -> None:
    plan = prepared("sglang/mi355x-dsv4-1p1d.yaml").plan(Shape())
    done = rehearse(plan, RehearsalOptions(), everything_installed)
    assert done.twins == ("prefill-0", "decode-0")
    assert done.real == ("sglang-router", "benchmark")
    assert done.plan.process("decode-0").program == ("{run.python}", "-m", "inferlane_sglang.twin")
    assert done.plan.process("sglang-router").program[0] == "real"


def test_a_router_that_is_not_installed_is_one_line_with_the_way_to_get_it() -> None:
    plan = prepared("sglang/mi355x-dsv4-1p1d.yaml").plan(Shape())
    with pytest.raises(
        PluginFault, match=r"sglang-router: '.*' is not installed here; install it: pip install sglang-router"
    ):
        rehearse(plan, RehearsalOptions(), nothing_installed)


def test_orders_hold_ports_mask_and_fault_of_each_twin() -> None:
    ready = prepared("sglang/mi355x-dsv4-1p1d.yaml")
    plan = ready.plan(Shape())
    options = RehearsalOptions(faults={"decode-0": "crash@2"}, load_s=1.5)
    bound = bind(rehearse(plan, options, everything_installed).plan, _known(plan))
    order = msgspec.json.decode(orders(bound, options, ready.hidden)["decode-0"], type=Orders)
    assert (order.host, order.fault, order.load_s, order.role) == ("127.9.9.2", "crash@2", 1.5, "decode")
    assert order.mask == {"ROCR_VISIBLE_DEVICES": "0,1,2,3"}
    assert set(order.absent) >= {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
    assert order.ports["http"].first == 6100


def test_flags_are_strict_only_where_the_recipe_declares_the_tables_version() -> None:
    for version, strict in (("0.5.23", True), ("0.5.17", False)):
        ready = prepared("sglang/mi300x-direct.yaml", f"identity.frameworks.sglang={version!r}", "model.container=x")
        bound = bind(rehearse(ready.plan(Shape()), RehearsalOptions(), everything_installed).plan, {})
        order = msgspec.json.decode(orders(bound, RehearsalOptions(), ready.hidden)["agg-0"], type=Orders)
        assert order.strict_flags is strict


def test_a_fault_for_a_process_that_does_not_exist_is_refused() -> None:
    plan = prepared("quickstart.yaml").plan(Shape())
    with pytest.raises(Exception, match=r"no twin is called decode-7; there are prefill-0, prefill-1, decode-0"):
        rehearse(plan, RehearsalOptions(faults={"decode-7": "error"}), everything_installed)


def test_many_replicas_are_scaled_down_and_said_so() -> None:
    ready = prepared("sglang/mi355x-r1-2p1d.yaml", "roles.prefill.nodes=40", "roles.prefill.workers=40")
    small, note = scale_down(ready.hidden)
    assert small.roles["prefill"].workers <= 32
    assert small.roles["prefill"].nodes == small.roles["prefill"].workers
    assert "prefill 40 -> " in note


def test_a_small_recipe_is_not_scaled() -> None:
    ready = prepared("quickstart.yaml")
    assert scale_down(ready.hidden) == (ready.hidden, "")


def _known(plan: Plan) -> dict[str, str]:
    known = {f"n{k}.{word}": f"127.9.9.{k + 1}" for k in range(len(plan.nodes)) for word in ("ip", "host", "bind")}
    return known | {f"n{k}.gpu{g}": str(g) for k in range(len(plan.nodes)) for g in range(8)}


def test_a_fault_word_that_no_twin_knows_is_refused_before_anything_starts() -> None:
    plan = prepared("quickstart.yaml").plan(Shape())
    with pytest.raises(UsageFault, match=r"--fault decode-0: fault 'crsh@1' is none of slow@S"):
        rehearse(plan, RehearsalOptions(faults={"decode-0": "crsh@1"}), everything_installed)
