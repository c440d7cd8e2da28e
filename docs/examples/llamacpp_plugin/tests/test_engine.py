from pathlib import Path

import inferlane_llamacpp.engine

from inferlane.config import load_cluster, load_recipe
from inferlane.planning import Shape, build_plan
from inferlane.plugins import Plugins
from inferlane.values import Plan

RECIPE = Path(__file__).parent.parent / "recipe.yaml"


def plan(*sets: str) -> Plan:
    recipe = load_recipe(str(RECIPE), sets, ()).recipe
    cluster = load_cluster(None, {}, Path("/")).cluster
    return build_plan(recipe, cluster, Shape(), Plugins())


def test_the_plan_gives_each_worker_a_port_and_a_device_of_its_own() -> None:
    first, second = (plan().process(name) for name in ("agg-0", "agg-1"))
    assert (first.ports["http"].first, second.ports["http"].first) == (6100, 6101)
    assert (first.slots[0].gpus, second.slots[0].gpus) == ((0,), (1,))
    assert second.slot_env[0]["CUDA_VISIBLE_DEVICES"] == "{n0.gpu1}"  # a token: the machine's word for that device


def test_the_recipe_sets_the_context() -> None:
    argv = plan("engine.context=512").process("agg-0").argv
    assert argv[argv.index("--ctx-size") + 1] == "512"


def test_the_module_says_which_contract_it_was_written_for() -> None:
    assert inferlane_llamacpp.engine.PLUGIN_API == 1
