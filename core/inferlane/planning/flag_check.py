"""Flags of a command line against the table of the program's version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inferlane.config import Recipe
from inferlane.flags import FlagTable, load_flag_table
from inferlane.planning.arguments import flag_name
from inferlane.plugins import Owner
from inferlane.values import Problem


class FlagCheck:
    """Loads each table once. Strict only where the table is of the version that the recipe declares."""

    def __init__(self, recipe: Recipe) -> None:
        self._mode = recipe.strict_flags
        frameworks = (recipe.identity or {}).get("frameworks") or {}
        self._declared = {(_plain(name), str(version).lstrip("v")) for name, version in frameworks.items()}
        self._image_tag = (recipe.model.container or "").rpartition(":")[2]
        self._tables: dict[str, FlagTable] = {}
        self._usual: dict[tuple[str | None, str], str] = {}
        self._seen: set[tuple[str, str]] = set()

    def table(self, resource: str | None) -> FlagTable | None:
        """The table behind ``package:resource``; ``None`` where flags are not to be checked."""
        return None if self._mode == "off" else self._table(resource)

    def _table(self, resource: str | None) -> FlagTable | None:
        if resource is None:
            return None
        if resource not in self._tables:
            self._tables[resource] = load_flag_table(resource)
        return self._tables[resource]

    def matches(self, table: FlagTable) -> bool:
        """Whether the recipe declares the table's version, in ``identity.frameworks`` or the image's tag."""
        tag = self._image_tag.lstrip("v")
        declared = (_plain(table.file.package), table.version) in self._declared
        return declared or tag == table.version or tag.startswith(f"{table.version}-")

    def usual(self, resource: str | None) -> Callable[[str], str]:
        """From any spelling of an argument (other names and abbreviations too) to the one it is compared by.

        Holds whether flags are checked or not: what the plan owns stays its own.
        """
        table = self._table(resource)

        def usual(key: str) -> str:
            if (resource, key) not in self._usual:  # the same few for each process
                name = flag_name(key)
                found = table.usual(f"--{name}") or table.usual(f"--{key.lstrip('-')}") if table else None
                self._usual[resource, key] = flag_name(found) if found else name
            return self._usual[resource, key]

        return usual

    def check(
        self, resource: str | None, args: Sequence[str], user: Mapping[str, Any], where: str, owner: Owner
    ) -> list[Problem]:
        """What the program would say of these arguments; each fault once per role."""
        table = self.table(resource)
        if table is None:
            return []
        strict = self._mode == "error" and self.matches(table)
        keys = {flag_name(key): key for key in user}
        problems = []
        for fault in table.check(args):
            key = keys.get(flag_name(fault.flag))
            place = f"{where}.{key}" if key else where
            if (place, fault.message) in self._seen:
                continue
            self._seen.add((place, fault.message))
            message = f"{owner.type} {table.version}: {fault.message}"
            problems.append(Problem(where=place, message=message, severity="error" if strict else "warning"))
        return problems


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
