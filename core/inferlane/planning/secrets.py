"""Literal secrets leave a recipe before it is planned: the plan holds references, the launcher holds the values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inferlane.config import Cluster, Recipe, RoleBlock, is_secret
from inferlane.config.fields import REFERENCE

PREFIX = "INFERLANE_SECRET_"
"""How the names of references begin, followed by the name of the variable or argument."""


class _Vault:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def hide(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Variables or arguments, with a reference in place of each literal secret."""
        return {name: self._hidden(name, value) for name, value in named.items()}

    def _hidden(self, name: str, value: Any) -> Any:
        literal = isinstance(value, str) and value and not REFERENCE.fullmatch(value)
        return self._reference(re.sub(r"\W", "_", name.lstrip("-")), value) if literal and is_secret(name) else value

    def _reference(self, name: str, value: str) -> str:
        number = 0
        while self.values.setdefault(reference := f"{PREFIX}{f'{number}_' if number else ''}{name}", value) != value:
            number += 1
        return f"${{{reference}}}"

    def hide_in_block(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """A block that a plugin reads, with its ``env`` and ``args`` hidden."""
        found = {key: block[key] for key in ("env", "args") if isinstance(block.get(key), Mapping)}
        return {**block, **{key: self.hide(value) for key, value in found.items()}}

    def hide_in_role(self, role: RoleBlock) -> RoleBlock:
        """The same for a role."""
        return role.model_copy(update={"env": self.hide(role.env), "args": self.hide(role.args)})


def hide_secrets(recipe: Recipe, cluster: Cluster) -> tuple[Recipe, Cluster, dict[str, str]]:
    """Recipe and cluster without literal secrets, and ``{reference: value}`` for whoever starts processes."""
    vault = _Vault()
    roles = {role: vault.hide_in_role(block) for role, block in recipe.roles.items()}
    changed: dict[str, Any] = {
        "environment": vault.hide(recipe.environment),
        "roles": roles,
        "frontend": vault.hide_in_block(recipe.frontend),
        "services": tuple(vault.hide_in_block(block) for block in recipe.services),
        "benchmark": vault.hide_in_block(recipe.benchmark) if recipe.benchmark is not None else None,
    }
    site = cluster.model_copy(update={"environment": vault.hide(cluster.environment)})
    return recipe.model_copy(update=changed), site, vault.values
