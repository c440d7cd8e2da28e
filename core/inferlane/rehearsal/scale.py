"""Fewer replicas of the same shape, so that a large recipe can be rehearsed on one machine."""

from __future__ import annotations

from inferlane.config import Recipe

LIMIT = 32
"""Workers that a rehearsal starts at most, unless it is a full one."""


def scale_down(recipe: Recipe, limit: int = LIMIT) -> tuple[Recipe, str]:
    """The recipe with fewer workers per role, never none, and a sentence about it (empty if nothing changed)."""
    before = {role: block.workers for role, block in recipe.roles.items()}
    counts = dict(before)
    while sum(counts.values()) > limit and max(counts.values()) > 1:
        largest = max(counts, key=lambda role: counts[role])
        counts[largest] = max(1, counts[largest] // 2)
    if counts == before:
        return recipe, ""
    roles = {}
    for role, block in recipe.roles.items():
        nodes = block.nodes
        if isinstance(nodes, int):
            nodes = max(1, -(-nodes * counts[role] // block.workers))
        gpus = block.gpus
        if gpus is None and isinstance(block.nodes, int) and recipe.resources.gpus_per_node:
            gpus = block.nodes * recipe.resources.gpus_per_node // block.workers
        roles[role] = block.model_copy(update={"workers": counts[role], "nodes": nodes, "gpus": gpus})
    changes = ", ".join(f"{role} {before[role]} -> {counts[role]}" for role in counts if counts[role] != before[role])
    return recipe.model_copy(update={"roles": roles}), f"scaled down for the rehearsal: {changes} (--full keeps all)"
