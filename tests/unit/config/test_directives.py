"""Options of the scheduler in recipe and cluster file: hostile or harmful ones are refused with their line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.config import FileRefused, LoadedCluster, LoadedRecipe, resolve

HOSTILE = [
    'sbatch_directives: {"mem\\n#SBATCH --uid": "0"}',
    'sbatch_directives: {"mem; touch pwned": "0"}',
    'sbatch_directives: {"mem 0 --uid": "0"}',
    'sbatch_directives: {mem: "0\\n#SBATCH --uid=0"}',
    'sbatch_directives: {mem: "0\\r\\ntouch pwned"}',
    'srun_options: {"mem --export": ALL}',
    'srun_options: {mem: "0\\n"}',
    'slurm: {account: "a\\n#SBATCH --wrap=x"}',
    'slurm: {partition: "a\\ntouch pwned"}',
    'slurm: {time_limit: "1:00:00\\ntouch pwned"}',
    'slurm: {time_limit: "$(touch pwned)"}',
]
HARMFUL = ["array", "arr", "wrap", "export", "exp", "export-file", "requeue", "test-only", "wait", "out", "N", "J"]


@pytest.mark.parametrize("more", HOSTILE)
def test_a_value_that_could_add_a_line_or_an_option_is_refused(refused: Callable[..., str], more: str) -> None:
    assert refused(more + "\n").startswith("recipe.yaml:11:")


@pytest.mark.parametrize("name", HARMFUL)
def test_a_directive_that_would_break_the_run_is_refused_at_its_line(refused: Callable[..., str], name: str) -> None:
    assert refused(f'sbatch_directives:\n  mem: "0"\n  "{name}": x\n').startswith(
        f"recipe.yaml:13:3: sbatch_directives.{name}: '{name}' "
    )


@pytest.mark.parametrize("name", ["export", "jobid", "nodelist", "nodel", "output", "ntasks", "w"])
def test_an_option_of_steps_that_the_plan_owns_is_refused(refused: Callable[..., str], name: str) -> None:
    assert f"srun_options.{name}: '{name}'" in refused(f"srun_options: {{{name}: x}}\n")


def test_options_that_sites_need_are_taken(recipe: Callable[..., LoadedRecipe]) -> None:
    more = 'srun_options: {mem: "0", container-writable: "", cpu-bind: none}\n'
    more += 'sbatch_directives: {mem: "0", nodelist: "n-[1,3]", exclusive: "", segment: "1", cpus-per-task: "8"}\n'
    assert recipe(more).recipe.sbatch_directives["nodelist"] == "n-[1,3]"


def test_a_cluster_file_is_checked_alike(cluster: Callable[..., LoadedCluster]) -> None:
    with pytest.raises(FileRefused, match=r"cluster.yaml:1:29: default_sbatch_directives\.array: 'array' cannot"):
        cluster('default_sbatch_directives: {"array": "1-4"}\n')


def test_a_directive_without_effect_is_told(
    recipe: Callable[..., LoadedRecipe], cluster: Callable[..., LoadedCluster]
) -> None:
    site = cluster("default_sbatch_directives: {comment: x}\n")
    idle = resolve(recipe('sbatch_directives: {nodes: "5", mem: "0"}\n'), site).inert
    assert idle == ("sbatch_directives.nodes", "cluster:default_sbatch_directives.comment")
