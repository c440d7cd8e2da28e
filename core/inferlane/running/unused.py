"""Keys that only a scheduler, or containers, give a meaning to: a run on this machine names those that a file holds."""

from __future__ import annotations

from inferlane.preparation import Prepared

RECIPE = (
    *("container_mounts", "extra_mount", "host_setup", "sbatch_directives", "slurm", "srun_options"),
    *("model.container", "frontend.container_image", "frontend.srun_options"),
)
ROLE = ("container", "srun_options")
CLUSTER = (
    *("containers", "default_account", "default_bash_preamble", "default_container", "default_host_setup"),
    "default_mounts",
    *("default_partition", "default_sbatch_directives", "default_time_limit", "gpu_sbatch_directive"),
    *("network_interface", "python", "runtime_config_transport", "use_exclusive_sbatch_directive"),
    *("use_gpus_per_node_directive", "use_segment_sbatch_directive"),
)


def unused_here(prepared: Prepared) -> tuple[str, ...]:
    """Paths of the recipe, then of the cluster file (``cluster:`` in front), that have no effect on this machine."""
    recipe = [*RECIPE, *(f"roles.{role}.{key}" for role in prepared.hidden.roles for key in ROLE)]
    stated = [path for path in recipe if prepared.recipe.source.origin(path) is not None]
    return (*stated, *(f"cluster:{key}" for key in CLUSTER if prepared.cluster.source.origin(key) is not None))


def unused_line(prepared: Prepared) -> str:
    """One note that lists them; empty if there are none."""
    paths = unused_here(prepared)
    return f"note: no effect on this machine, without scheduler and containers: {', '.join(paths)}" if paths else ""
