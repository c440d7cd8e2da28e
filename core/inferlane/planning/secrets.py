"""Secrets leave a recipe before it is planned: the plan holds references, the launcher holds the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inferlane.config import Cluster, Recipe, RoleBlock, is_secret
from inferlane.config.blocks import HostSetup
from inferlane.config.fields import REFERENCE
from inferlane.config.paths import Path, join
from inferlane.config.secrets import MASK
from inferlane.values import Problem

PREFIX = "INFERLANE_SECRET_"
"""How the names of references begin, followed by the name of the variable or argument."""

_OURS = re.compile(r"\$\{(" + PREFIX + r"\w+)\}")
_SHORTEST = 6  # of a value that is looked for inside others
_KEPT = ("type", "name")


class _Vault:
    """``known``: secrets by name that stand in variables of whoever calls, and that files refer to."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.values: dict[str, str] = {}
        self._known = {value: name for name, value in known.items() if len(value) >= _SHORTEST}

    def hide(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Variables or arguments, with a reference in place of each literal secret."""
        return {name: self._hidden(name, value) for name, value in named.items()}

    def _hidden(self, name: str, value: Any) -> Any:
        if not (isinstance(value, str) and value and is_secret(name)) or REFERENCE.fullmatch(value):
            return value
        name = re.sub(r"\W", "_", name.lstrip("-"))
        if len(value) >= _SHORTEST:
            self._known.setdefault(value, name)
        return self._reference(name, value)

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

    def hide_inside(self, value: Any) -> Any:
        """``value`` with a reference in place of every secret that is part of a text in it."""
        if isinstance(value, str):
            return self._pieces(value) if any(secret in value for secret in self._known) else value
        if isinstance(value, Mapping):
            return {key: item if key in _KEPT else self.hide_inside(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.hide_inside, value))
        return value

    def _pieces(self, text: str) -> str:
        secrets = sorted(self._known, key=lambda secret: (-len(secret), secret))
        pattern = re.compile("|".join([REFERENCE.pattern, *map(re.escape, secrets)]))

        def piece(match: re.Match[str]) -> str:
            found = match[0]
            return self._reference(self._known[found], found) if found in self._known else found

        return pattern.sub(piece, text)


def hide_secrets(
    recipe: Recipe, cluster: Cluster, known: Mapping[str, str] | None = None
) -> tuple[Recipe, Cluster, dict[str, str]]:
    """Recipe and cluster without literal secrets, and ``{reference: value}`` for whoever starts processes. A secret
    that is repeated inside another text is replaced there too. ``known``: secret variables that the files refer to.
    """
    vault = _Vault(known or {})
    roles = {role: vault.hide_in_role(block) for role, block in recipe.roles.items()}
    blocks = {
        "frontend": vault.hide_in_block(recipe.frontend),
        "services": tuple(vault.hide_in_block(block) for block in recipe.services),
        "benchmark": vault.hide_in_block(recipe.benchmark) if recipe.benchmark is not None else None,
    }
    environments = vault.hide(recipe.environment), vault.hide(cluster.environment)
    inside = vault.hide_inside
    changed: dict[str, Any] = {
        "environment": inside(environments[0]),
        "roles": {
            name: role.model_copy(update={"env": inside(role.env), "args": inside(role.args)})
            for name, role in roles.items()
        },
        "model": recipe.model.model_copy(update={"path": inside(recipe.model.path)}),
        **inside(blocks),
        **_hidden_options(recipe, inside, ("sbatch_directives", "srun_options"), "host_setup"),
    }
    options = _hidden_options(cluster, inside, ("default_sbatch_directives",), "default_host_setup")
    site = cluster.model_copy(update={"environment": inside(environments[1]), **options})
    return recipe.model_copy(update=changed), site, vault.values


def _hidden_options(
    model: Recipe | Cluster, inside: Callable[[Any], Any], tables: Sequence[str], setup: str
) -> dict[str, Any]:
    """What is written into a job script, or an argument there, and stands in ``model``."""
    changed = {key: inside(getattr(model, key)) for key in tables if getattr(model, key)}
    commands: HostSetup | None = getattr(model, setup)
    if commands is not None:
        update = {"commands": inside(commands.commands), "teardown": inside(commands.teardown)}
        changed[setup] = commands.model_copy(update=update)
    return changed


def fill(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with the values of our references, for whoever starts processes and never to be written."""
    return _OURS.sub(lambda match: secrets.get(match[1], match[0]), text) if PREFIX in text else text


def references(value: Any) -> Iterator[str]:
    """Names that texts inside ``value`` refer to as ``${NAME}``."""
    if isinstance(value, str):
        yield from (match[1] for match in REFERENCE.finditer(value))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references(item)


def masked(text: str, document: Any) -> str:
    """A message on ``document`` without the values that it holds under names of secrets."""
    found = {value for value in _named(document) if len(value) >= _SHORTEST and not REFERENCE.fullmatch(value)}
    for value in sorted(found, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _named(document: Any) -> Iterator[str]:
    if isinstance(document, Mapping):
        for name, value in document.items():
            if isinstance(value, str) and is_secret(str(name)):
                yield value
            yield from _named(value)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _named(value)


def argument_warnings(recipe: Recipe) -> list[Problem]:
    """Secrets that are given as arguments (``recipe`` is hidden already): everyone on the machine can read those."""
    places: list[tuple[Path, Any]] = [(("roles", role, "args"), block.args) for role, block in recipe.roles.items()]
    places.append((("frontend", "args"), recipe.frontend.get("args")))
    places += [(("services", index, "args"), block.get("args")) for index, block in enumerate(recipe.services)]
    found = [
        join((*path, name))
        for path, args in places
        if isinstance(args, Mapping)
        for name, value in args.items()
        if any(_OURS.search(text) for text in _texts(value))
    ]
    message = (
        "a secret in an argument can be read in the process list by every user of the machine while it runs; if the "
        "program takes it from a variable, set that in 'env' instead"
    )
    return [Problem(where=where, severity="warning", message=message) for where in found]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
