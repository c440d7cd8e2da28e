"""How a site is asked for GPUs: one request, in the form that the cluster file chooses."""

from __future__ import annotations

from inferlane.config import Cluster, Recipe

_FORMS = ("gpus-per-node", "gres", "gpus", "gpus-per-task")


def gpu_request(recipe: Recipe, site: Cluster, per_node: int, uses_devices: bool) -> tuple[str, str] | None:
    """Name and value of the option; ``None``: no GPUs are asked for.

    A directive of recipe or cluster file that asks for them stands for the request; the recipe's beats the site's.
    """
    for directives in (recipe.sbatch_directives, site.default_sbatch_directives):
        for name in _FORMS:
            if _asks(name, directives.get(name, "")):
                return name, str(directives[name])
    if not uses_devices:
        return None
    form = site.gpu_sbatch_directive or ("gpus-per-node" if site.use_gpus_per_node_directive else "none")
    if form == "none":
        return None
    return (form, str(per_node)) if form == "gpus-per-node" else (form, f"gpu:{per_node}")


def step_options(request: tuple[str, str] | None, per_node: int) -> tuple[str, ...]:
    """How a step on one node gets all its devices; a number for the whole job would be too many for it."""
    if request is None:
        return ()
    name, value = request if request[0] in ("gpus-per-node", "gres") else ("gpus-per-node", str(per_node))
    return (f"--{name}={value}",)


def _asks(name: str, value: str) -> bool:
    """Whether it asks for GPUs: a site has other generic resources too."""
    return bool(value) and (
        name != "gres" or any(item.split(":")[0] in ("gpu", "gres/gpu") for item in value.split(","))
    )
