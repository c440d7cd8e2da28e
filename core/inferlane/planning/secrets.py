"""Literal secrets leave a recipe before it is planned: the plan holds references, the launcher holds the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferlane.config import Cluster, Recipe, is_secret

_PREFIX = "INFERLANE_SECRET_"


class _Vault:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def hide(self, env: Mapping[str, str | None]) -> dict[str, str | None]:
        """``env`` with a reference in place of each literal secret."""
        return {
            name: self._reference(name, value) if value and is_secret(name) and not value.startswith("${") else value
            for name, value in env.items()
        }

    def _reference(self, name: str, value: str) -> str:
        number = 0
        while (
            self.values.setdefault(reference := f"{_PREFIX}{name}" + (f"_{number}" if number else ""), value) != value
        ):
            number += 1
        return f"${{{reference}}}"

    def hide_in_block(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """A block that a plugin reads, with its ``env`` hidden."""
        env = block.get("env")
        return {**block, "env": self.hide(env)} if isinstance(env, Mapping) else dict(block)


def hide_secrets(recipe: Recipe, cluster: Cluster) -> tuple[Recipe, Cluster, dict[str, str]]:
    """Recipe and cluster without literal secrets, and ``{reference: value}`` for whoever starts processes."""
    vault = _Vault()
    roles = {role: block.model_copy(update={"env": vault.hide(block.env)}) for role, block in recipe.roles.items()}
    changed: dict[str, Any] = {
        "environment": vault.hide(recipe.environment),
        "roles": roles,
        "frontend": vault.hide_in_block(recipe.frontend),
        "services": tuple(vault.hide_in_block(block) for block in recipe.services),
        "benchmark": vault.hide_in_block(recipe.benchmark) if recipe.benchmark is not None else None,
    }
    site = cluster.model_copy(update={"environment": vault.hide(cluster.environment)})
    return recipe.model_copy(update=changed), site, vault.values
