"""What switches plugins off, before anything is imported: ``--disable``, ``--no-plugins`` and the environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from inferlane.plugins.kinds import BUILTIN

VARIABLE = "INFERLANE_DISABLE_PLUGINS"
EVERYTHING = "*"


def normalise(name: str) -> str:
    """A distribution name in the form in which two spellings of one project are equal (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Switch(NamedTuple):
    """One name that was switched off (a type, a distribution, or ``*``), and what did it."""

    name: str
    origin: str

    def hits(self, type: str, distribution: str) -> bool:
        """``*`` spares the built-ins; a name spares nobody."""
        if self.name == EVERYTHING:
            return normalise(distribution) != BUILTIN
        return self.name == type or normalise(self.name) == normalise(distribution)


def read_switches(
    disable: Collection[str], no_plugins: bool = False, environ: Mapping[str, str] | None = None
) -> tuple[Switch, ...]:
    """The command line's switches first, then those of the environment; empty items are skipped."""
    switches = [Switch(EVERYTHING, "--no-plugins")] if no_plugins else []
    switches += [Switch(name.strip(), f"--disable {name.strip()}") for name in disable if name.strip()]
    listed = (environ or {}).get(VARIABLE, "").split(",")
    switches += [Switch(name.strip(), f"{VARIABLE}={name.strip()}") for name in listed if name.strip()]
    return tuple(switches)
