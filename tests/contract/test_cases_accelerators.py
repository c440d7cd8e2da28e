"""Case (h): the device mask and the exporter, with every precedence."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.errors import PluginFault
from inferlane.plugins import Plugins
from inferlane.testing.plans import plan_of

MASKS = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}
HIP = {"visible_devices_env": "HIP_VISIBLE_DEVICES"}


@pytest.mark.parametrize(
    ("gpu", "cluster", "recipe", "variable"),
    [
        ("h100", {}, None, "CUDA_VISIBLE_DEVICES"),
        ("mi355x", {}, None, "ROCR_VISIBLE_DEVICES"),
        ("h100", {"visible_devices_env": "ROCR_VISIBLE_DEVICES"}, None, "ROCR_VISIBLE_DEVICES"),
        ("mi355x", HIP, None, "HIP_VISIBLE_DEVICES"),
        ("mi355x", HIP, "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        ("unheard-of", {}, None, "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_exactly_one_mask_is_set_and_the_others_are_removed(
    gpu: Any, cluster: Any, recipe: Any, variable: Any, plan: Any, cases: Any
) -> None:
    block = cases.stranger(gpu=gpu)
    if recipe:
        block["resources"]["visible_devices_env"] = recipe
    worker = plan(block, cluster).process("agg-1")
    assert worker.slot_env == ({variable: "{n0.gpu4},{n0.gpu5},{n0.gpu6},{n0.gpu7}"},)
    assert MASKS - {variable} <= set(worker.unset)
    assert not MASKS & set(worker.env)


def test_a_type_that_nobody_knows_is_planned_by_default_conventions_with_a_warning(plan: Any, cases: Any) -> None:
    [warning] = plan(cases.stranger(gpu="unheard-of")).warnings
    assert warning.where == "resources.gpu_type"
    assert "no plugin knows 'unheard-of'" in warning.message


def test_a_worker_that_owns_its_node_has_no_mask(plan: Any, cases: Any) -> None:
    worker = plan(cases.stranger(workers=1, gpus=8)).process("agg-0")
    assert worker.slot_env == ()
    assert not MASKS & {*worker.env, *worker.unset}


def test_a_worker_that_owns_the_recipes_devices_is_masked_where_the_machine_shows_more(plan: Any, cases: Any) -> None:
    worker = plan(cases.stranger(workers=1, gpus=8), masked=True).process("agg-0")
    assert worker.slot_env[0]["CUDA_VISIBLE_DEVICES"].startswith("{n0.gpu0},{n0.gpu1}")


@pytest.mark.parametrize("name", ["stranger", "umbp", "sidecar", "trtllm", "rank_servers"])
def test_no_process_is_given_an_empty_mask(name: Any, plan: Any, cases: Any) -> None:
    for process in plan(cases.ALL[name]()).processes:
        assert all(value for mask in process.slot_env for value in mask.values())
        assert not MASKS & set(process.env)


def test_a_mask_in_the_recipe_loads_with_a_warning_and_the_plans_own_wins(plan: Any, cases: Any) -> None:
    block = cases.stranger()
    block["roles"]["agg"]["env"] = {"CUDA_VISIBLE_DEVICES": "0"}
    made = plan(block)
    assert made.process("agg-1").slot_env[0]["CUDA_VISIBLE_DEVICES"].startswith("{n0.gpu4}")
    assert {warning.where for warning in made.warnings} == {"roles.agg.env.CUDA_VISIBLE_DEVICES"}


@pytest.mark.parametrize(
    ("gpu", "cluster", "recipe", "port"),
    [
        ("mi355x", {}, {}, 5000),
        ("h100", {}, {}, 9401),
        ("mi355x", {"default_gpu_exporter": {"port": 5001}}, {}, 5001),
        ("mi355x", {"default_gpu_exporter": {"port": 5001}}, {"default_gpu_exporter": {"port": 5002}}, 5002),
        ("mi355x", {"default_gpu_exporter": None}, {}, None),
        ("mi355x", {}, {"default_gpu_exporter": None}, None),
        ("mi355x", {"default_gpu_exporter": {"port": 5001}}, {"default_gpu_exporter": None}, None),
    ],
)
def test_the_recipes_exporter_beats_the_clusters_and_that_the_plugins(
    gpu: Any, cluster: Any, recipe: Any, port: Any, plan: Any, cases: Any
) -> None:
    made = plan(cases.stranger(gpu=gpu, telemetry={"enabled": True, **recipe}), cluster)
    found = [process.ports["metrics"].first for process in made.processes if process.type == "gpu-exporter"]
    assert found == ([port] if port else [])


def test_an_exporter_is_never_critical_and_stands_on_every_node(plan: Any, cases: Any) -> None:
    block = cases.umbp() | {"telemetry": {"enabled": True}}
    exporters = [process for process in plan(block).processes if process.type == "gpu-exporter"]
    assert [process.slots[0].node.name for process in exporters] == ["n0", "n1", "n2"]
    assert {process.critical for process in exporters} == {"never"}


def test_without_telemetry_no_exporter_is_started(plan: Any, cases: Any) -> None:
    assert not [process for process in plan(cases.stranger()).processes if process.type == "gpu-exporter"]


def test_a_known_type_whose_plugin_is_missing_is_planned_and_recorded(
    plan: Any, cases: Any, without_distribution: Any
) -> None:
    without_distribution("inferlane-amd-cluster")
    made = plan(cases.stranger(gpu="mi355x"))
    assert "pip install inferlane-amd-cluster" in made.missing_plugins["mi355x"]
    assert made.process("agg-1").slot_env[0].keys() == {"CUDA_VISIBLE_DEVICES"}
    assert [warning.where for warning in made.warnings] == ["resources.gpu_type"]


def test_a_known_type_whose_plugin_is_switched_off_is_refused_and_not_planned_otherwise(
    cases: Any, case_site: Any
) -> None:
    with pytest.raises(PluginFault, match=r"'mi355x' .* is switched off by --disable inferlane-amd-cluster"):
        plan_of(cases.stranger(gpu="mi355x"), plugins=Plugins(disable=("inferlane-amd-cluster",)))
