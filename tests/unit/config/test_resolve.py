"""A recipe on a site: precedence, aliases, mounts, origins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.config import FileRefused, LoadedCluster, LoadedRecipe, report, resolve
from inferlane.values import Problem

Recipes = Callable[..., LoadedRecipe]
Clusters = Callable[..., LoadedCluster]

SITE = """\
default_account: acc
default_partition: gpu
default_time_limit: 4:00:00
gpus_per_node: 4
default_gpu_type: l4
default_sbatch_directives: {mem: "1", qos: high}
default_health_check: {max_attempts: 7}
default_host_setup: {commands: [prepare]}
default_mounts: {/dev/x: /dev/x, /cluster: /data}
model_paths: {small: /models/small, unused: "${NOT_SET}/x"}
containers: {image: /images/image.sqsh}
"""


def test_the_cluster_fills_what_the_recipe_lacks(recipe: Recipes, cluster: Clusters) -> None:
    resolved = resolve(recipe(unsets=("resources",)), cluster(SITE)).recipe
    assert (resolved.resources.gpus_per_node, resolved.resources.gpu_type) == (4, "l4")
    assert (resolved.slurm.account, resolved.slurm.partition, resolved.slurm.time_limit) == ("acc", "gpu", "4:00:00")
    assert resolved.health_check.max_attempts == 7
    assert resolved.host_setup is not None
    assert resolved.host_setup.commands == ("prepare",)


def test_the_recipe_beats_the_cluster_and_the_command_line_beats_both(recipe: Recipes, cluster: Clusters) -> None:
    more = (
        "slurm: {account: mine, time_limit: 1:00:00}\nhealth_check: {interval_seconds: 3}\nhost_setup: {commands: []}\n"
    )
    resolved = resolve(recipe(more, sets=("slurm.account=set",)), cluster(SITE))
    assert resolved.recipe.slurm.account == "set"
    assert resolved.recipe.slurm.time_limit == "1:00:00"
    assert resolved.recipe.health_check.max_attempts == 180
    assert resolved.recipe.host_setup is not None
    assert resolved.recipe.host_setup.commands == ()


def test_the_cluster_accelerator_beats_its_default_type(recipe: Recipes, cluster: Clusters) -> None:
    site = cluster("default_gpu_type: l4\naccelerator: h200\n")
    assert resolve(recipe(unsets=("resources.gpu_type",)), site).recipe.resources.gpu_type == "h200"
    assert resolve(recipe(), site).recipe.resources.gpu_type == "h100"


def test_directives_are_filled_key_by_key(recipe: Recipes, cluster: Clusters) -> None:
    resolved = resolve(recipe('sbatch_directives: {mem: "0"}\n'), cluster(SITE)).recipe
    assert resolved.sbatch_directives == {"mem": "0", "qos": "high"}


def test_every_value_knows_its_origin(recipe: Recipes, cluster: Clusters) -> None:
    resolved = resolve(recipe("slurm: {account: mine}\n", sets=("slurm.partition=p",)), cluster(SITE))
    assert resolved.origin("slurm.account") == "recipe.yaml:11:18"
    assert resolved.origin("slurm.partition") == "--set"
    assert resolved.origin("slurm.time_limit") == "cluster.yaml:3:21"
    assert resolved.origin("sbatch_directives.qos") == "cluster.yaml:6:44"
    assert resolved.origin("roles.agg.workers") == "default"


def test_aliases_are_replaced_where_images_stand_and_nowhere_else(recipe: Recipes, cluster: Clusters) -> None:
    more = "services: [{container: image, env: {container: image}}]\nidentity: {container: {image: image}}\n"
    loaded = recipe(more, sets=("model={path: small, container: image}", "roles.agg.args.container=image"))
    resolved = resolve(loaded, cluster(SITE))
    assert resolved.recipe.model.path == "/models/small"
    assert resolved.recipe.model.container == "/images/image.sqsh"
    assert resolved.recipe.services[0] == {
        "type": "generic",
        "container": "/images/image.sqsh",
        "env": {"container": "image"},
    }
    assert resolved.recipe.roles["agg"].args == {"container": "image"}
    assert resolved.recipe.identity == {"container": {"image": "image"}}
    assert not resolved.unresolved
    assert not resolved.unresolved_images


def test_an_alias_that_nobody_knows_is_a_warning(recipe: Recipes, cluster: Clusters) -> None:
    resolved = resolve(recipe(sets=("model={path: smal, container: imag}",)), cluster(SITE))
    assert [problem.where for problem in resolved.unresolved] == ["model.path"]
    assert "not in model_paths of cluster.yaml" in resolved.unresolved[0].message
    assert [problem.where for problem in resolved.unresolved_images] == ["model.container"]
    assert resolved.unresolved[0].severity == "warning"


@pytest.mark.parametrize("path", ["hf:org/model", "/models/x", "org/model", "./x"])
def test_a_path_or_hub_name_is_no_alias(recipe: Recipes, cluster: Clusters, path: str) -> None:
    assert not resolve(recipe(sets=(f"model.path={path}",)), cluster(SITE)).unresolved


def test_an_unset_variable_counts_only_where_its_alias_is_used(recipe: Recipes, cluster: Clusters) -> None:
    assert not resolve(recipe(), cluster(SITE)).unresolved
    assert "NOT_SET" in resolve(recipe(sets=("model.path=unused",)), cluster(SITE)).unresolved[0].message


def test_a_mount_of_the_recipe_beats_the_sites_at_the_same_container_path(recipe: Recipes, cluster: Clusters) -> None:
    more = "container_mounts: {/mine: /data, /same: /a}\nextra_mount: ['/same:/b', '/other:/c:ro']\n"
    mounts = resolve(recipe(more), cluster(SITE)).mounts
    assert mounts == ("/dev/x:/dev/x", "/mine:/data", "/same:/a", "/same:/b", "/other:/c:ro")


def test_a_cluster_value_that_does_not_fit_is_refused_at_its_line(recipe: Recipes, cluster: Clusters) -> None:
    with pytest.raises(FileRefused, match=r"cluster\.yaml:1:22: default_time_limit: 10 has no unit"):
        resolve(recipe(), cluster("default_time_limit:  10\n"))


def test_problems_are_reported_with_positions_in_both_files_in_order(recipe: Recipes, cluster: Clusters) -> None:
    resolved = resolve(recipe(), cluster(SITE))
    problems = [
        Problem(where="roles.agg.args.tp", message="too large"),
        Problem(where="cluster:ports", message="clash"),
        Problem(where="slurm.partition", message="odd", severity="warning"),
        Problem(message="no place"),
        Problem(where="name", message="taken"),
    ]
    assert report(problems, resolved.source, resolved.cluster_source) == [
        "cluster.yaml:1:1: ports: clash",
        "cluster.yaml:2:1: slurm.partition: warning: odd",
        "recipe.yaml:2:1: name: taken",
        "recipe.yaml:8:3: roles.agg.args.tp: too large",
        "no place",
    ]


def test_the_sites_container_is_for_recipes_that_name_none_and_may_be_an_alias(
    recipe: Recipes, cluster: Clusters
) -> None:
    site = cluster(SITE + "default_container: image\n")
    assert resolve(recipe(), site).recipe.model.container == "/images/image.sqsh"
    assert resolve(recipe(sets=("model.container=own:1",)), site).recipe.model.container == "own:1"
