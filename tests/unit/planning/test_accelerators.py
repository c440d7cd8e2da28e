"""The accelerator's choice and its exporter: recipe over cluster over plugin, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.config import Cluster, Recipe
from inferlane.errors import Refused
from inferlane.planning import Shape
from inferlane.planning.accelerators import AcceleratorUse, choose_accelerator
from inferlane.plugins import Plugins
from inferlane.testing.plans import plan_of, recipe_block
from inferlane.values import Exporter, Node, Problem, Slot

ROLES = {"agg": {"nodes": 1, "workers": 2, "gpus": 4}}


def block(gpu: str | None = None, telemetry: dict[str, Any] | None = None) -> dict[str, Any]:
    """A recipe that names no accelerator by itself."""
    recipe = recipe_block("mock", "mock", ROLES)
    recipe["resources"] = {"gpus_per_node": 8} | ({"gpu_type": gpu} if gpu else {})
    return recipe | ({"telemetry": {"enabled": True, **telemetry}} if telemetry is not None else {})


def choose(recipe: dict[str, Any], cluster: dict[str, Any] | None = None, shape: Shape | None = None) -> AcceleratorUse:
    problems: list[Problem] = []
    parsed = Recipe.model_validate(recipe), Cluster.model_validate(cluster or {})
    return choose_accelerator(*parsed, shape or Shape(), Plugins(), problems)[0]


def exporter(recipe: dict[str, Any], cluster: dict[str, Any] | None = None) -> Exporter | None:
    site = Cluster.model_validate(cluster or {})
    return choose(recipe, cluster).exporter(site, Recipe.model_validate(recipe))


@pytest.mark.parametrize(
    ("gpu", "cluster", "found"),
    [
        (None, {}, "default"),
        (None, {"default_gpu_type": "mi355x"}, "mi355x"),
        (None, {"default_gpu_type": "mi355x", "accelerator": "b200"}, "b200"),
        ("h100", {"default_gpu_type": "mi355x", "accelerator": "mi300x"}, "h100"),
    ],
)
def test_the_recipe_beats_the_cluster_and_that_the_built_in(
    gpu: str | None, cluster: dict[str, Any], found: str
) -> None:
    assert choose(block(gpu), cluster).config.type == found


def test_a_part_of_a_node_is_masked_by_words_of_its_positions() -> None:
    mask = choose(block("mi355x")).mask(Slot(node=Node(name="n3"), gpus=(2, 3)))
    assert mask["ROCR_VISIBLE_DEVICES"] == "{n3.gpu2},{n3.gpu3}"


def test_exactly_one_variable_is_set_and_every_other_one_of_the_vendor_removed() -> None:
    mask = choose(block("mi355x"), {"visible_devices_env": "HIP_VISIBLE_DEVICES"}).mask(
        Slot(node=Node(name="n0"), gpus=(4, 5, 6, 7))
    )
    assert {name for name, value in mask.items() if value} == {"HIP_VISIBLE_DEVICES"}
    assert {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} <= {name for name, value in mask.items() if value is None}


@pytest.mark.parametrize("gpus", [(), tuple(range(8))])
def test_all_devices_or_none_need_no_mask(gpus: tuple[int, ...]) -> None:
    assert choose(block()).mask(Slot(node=Node(name="n0"), gpus=gpus)) == {}


def test_all_devices_of_the_recipe_need_one_where_the_machine_shows_more() -> None:
    mask = choose(block(), shape=Shape(masked=True)).mask(Slot(node=Node(name="n0"), gpus=tuple(range(8))))
    assert mask["CUDA_VISIBLE_DEVICES"] is not None


@pytest.mark.parametrize("gpu", ["h100", "mi355x"])
def test_a_router_and_a_client_have_every_mask_removed_and_none_empty(gpu: str) -> None:
    plan = plan_of(block(gpu) | {"benchmark": {"type": "custom", "command": "true"}})
    for name in ("mock", "benchmark"):
        process = plan.process(name)
        masks = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
        assert masks <= set(process.unset)
        assert not masks & set(process.env)


def test_a_cluster_overrides_the_fields_it_names_and_keeps_the_others() -> None:
    found = exporter(block("mi355x", {}), {"default_gpu_exporter": {"port": 5055}})
    plain = exporter(block("mi355x", {}))
    assert found is not None
    assert plain is not None
    assert (found.port, found.image, found.metrics) == (5055, plain.image, plain.metrics)


def test_a_recipe_overrides_the_field_it_names_and_keeps_the_clusters_others() -> None:
    site = {"default_gpu_exporter": {"container_image": "site/exporter:1", "port": 5001}}
    found = exporter(block("mi355x", {"default_gpu_exporter": {"port": 5055}}), site)
    assert found is not None
    assert (found.port, found.image) == (5055, "site/exporter:1")


@pytest.mark.parametrize(
    ("recipe", "cluster"),
    [
        ({"default_gpu_exporter": None}, {}),
        ({}, {"default_gpu_exporter": None}),
        ({"default_gpu_exporter": None}, {"default_gpu_exporter": {"port": 5001}}),
    ],
)
def test_null_turns_the_exporter_off(recipe: dict[str, Any], cluster: dict[str, Any]) -> None:
    assert exporter(block("mi355x", recipe), cluster) is None


def test_a_site_without_the_block_behaves_as_the_plugin_says() -> None:
    found = exporter(block("h100", {}))
    assert found is not None
    assert (found.port, found.command[0]) == (9401, "dcgm-exporter")


def test_a_recipe_can_name_a_whole_exporter_where_the_cluster_turned_it_off() -> None:
    whole = {"container_image": "mine:1", "command": "my-exporter --port {port}", "port": 5100}
    found = exporter(block("h100", {"default_gpu_exporter": whole}), {"default_gpu_exporter": None})
    assert found is not None
    assert found.command == ("my-exporter", "--port", "{port}")


def test_half_an_exporter_is_refused_at_its_own_line() -> None:
    with pytest.raises(Refused) as refused:
        exporter(block("h100", {"default_gpu_exporter": {"port": 5100}}), {"default_gpu_exporter": None})
    assert refused.value.problems[0].where == "telemetry.default_gpu_exporter"
    assert "command" in refused.value.problems[0].message


def test_a_renamed_metric_keeps_its_unit_and_the_other_metrics() -> None:
    renamed = {"default_gpu_exporter": {"gpu_metrics": {"energy": {"metric": "joules_total"}}}}
    found = exporter(block("mi355x", renamed))
    assert found is not None
    assert (found.metrics["energy"].series, found.metrics["energy"].unit) == ("joules_total", "uJ")
    assert found.metrics["power"].series == "gpu_power_usage"


def test_a_metric_without_a_series_is_refused() -> None:
    with pytest.raises(Refused, match="series"):
        exporter(block("mi355x", {"default_gpu_exporter": {"gpu_metrics": {"power": {"scope": "gpu"}}}}))


def test_at_most_one_exporter_stands_on_a_node() -> None:
    recipe = block("mi355x", {}) | {"services": [{"type": "generic", "name": "cache", "command": "sleep 600"}]}
    names = [process.name for process in plan_of(recipe).processes if process.type == "gpu-exporter"]
    assert names == ["gpu-exporter-n0"]
