"""AMD accelerators: which types, which mask, which exporter."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from inferlane.api import Devices
from inferlane.plugins import Plugins
from inferlane.testing.plans import plan_of, recipe_block
from inferlane_amd_cluster import accelerators

HALF = Devices(indices=(4, 5), words=("4", "5"), total=8)
ALIASES = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}


def config(variable: str | None = None) -> accelerators.AmdConfig:
    block = {"type": "mi355x"} | ({"visible_devices_env": variable} if variable else {})
    return accelerators.AmdConfig.model_validate(block)


def test_every_type_of_the_catalogue_is_an_entry_point_and_the_other_way_round() -> None:
    module = "inferlane_amd_cluster.accelerators"
    named = {point.name for point in entry_points(group="inferlane.accelerators") if point.value == module}
    assert named == set(accelerators.TYPES)


@pytest.mark.parametrize("type", accelerators.TYPES)
def test_every_type_loads(type: str) -> None:
    assert Plugins().accelerator(type).spec.type == type


@pytest.mark.parametrize("variable", sorted(ALIASES))
def test_exactly_one_variable_is_set_and_the_others_are_removed(variable: str) -> None:
    mask = accelerators.inferlane_visible_devices(config(variable), HALF)
    assert mask is not None
    assert mask[variable] == "4,5"
    assert {name for name, value in mask.items() if value is None} == ALIASES - {variable}


def test_the_default_is_the_lowest_layers_variable() -> None:
    assert config().visible_devices_env == "ROCR_VISIBLE_DEVICES"


def test_the_clusters_variable_reaches_the_second_worker() -> None:
    roles = {"agg": {"nodes": 1, "workers": 2, "gpus": 4, "args": {"tp-size": 4}}}
    recipe = recipe_block("sglang", "sglang-router", roles, gpu="mi355x")
    worker = plan_of(recipe, {"visible_devices_env": "HIP_VISIBLE_DEVICES"}).process("agg-1")
    assert worker.slot_env == ({"HIP_VISIBLE_DEVICES": "{n0.gpu4},{n0.gpu5},{n0.gpu6},{n0.gpu7}"},)
    assert ALIASES - {"HIP_VISIBLE_DEVICES"} <= set(worker.unset)


def test_device_words_are_opaque() -> None:
    words = Devices(indices=(0, 1), words=("GPU-3f9a", "MIG-7c"), total=4)
    mask = accelerators.inferlane_visible_devices(config(), words)
    assert mask is not None
    assert mask["ROCR_VISIBLE_DEVICES"] == "GPU-3f9a,MIG-7c"


def test_a_process_that_owns_the_node_has_no_mask_and_never_an_empty_one() -> None:
    whole = Devices(indices=tuple(range(8)), words=(), total=8, whole=True)
    assert accelerators.inferlane_visible_devices(config(), whole) == {}


def test_the_exporter_names_its_units() -> None:
    exporter = accelerators.inferlane_gpu_exporter(config())
    assert exporter is not None
    assert (exporter.port, exporter.index_label, exporter.identity_label) == (5000, "gpu_id", "serial_number")
    units = {name: metric.unit for name, metric in exporter.metrics.items()}
    assert units == {"power": "W", "energy": "uJ", "gpu_util": "%", "temperature": "C"}
