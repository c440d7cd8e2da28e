"""Installed distributions without an installer: packages and their metadata in a folder on ``sys.path``."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

ENGINE = """\
from inferlane.api import *

PLUGIN_API = 1


@hookimpl
def inferlane_engines():
    return [EngineSpec(type={type!r}, summary="an engine of a test", config=EngineConfig, speaks=("openai",))]
"""


def engine_source(type: str, body: str = "") -> str:
    """The text of a module that adds engine ``type``; ``body`` is added below, dedented."""
    return ENGINE.format(type=type) + "\n\n" + textwrap.dedent(body)


class PluginSite:
    """A folder that looks to Python like one with installed distributions.

    :meth:`activate` puts it in front of ``sys.path``; :meth:`environ` gives subprocesses the same view;
    :meth:`deactivate` takes it away, with every module that was imported from it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(
        self,
        distribution: str,
        version: str = "1.0",
        *,
        modules: Mapping[str, str] | None = None,
        entry_points: Mapping[str, Mapping[str, str]] | None = None,
        requires: Sequence[str] = (),
    ) -> None:
        """Install a distribution. ``modules``: dotted name to source; ``entry_points``: group to name to target.

        Without ``modules`` there is only metadata, as after an upgrade that left some behind.
        """
        for name, source in (modules or {}).items():
            path = self.folder.joinpath(*name.split(".")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(source), encoding="utf-8")
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        head = [f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}"]
        lines = head + [f"Requires-Dist: {requirement}" for requirement in requires]
        info.joinpath("METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        points = [
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items())
            for group, names in (entry_points or {}).items()
        ]
        info.joinpath("entry_points.txt").write_text("\n".join(points), encoding="utf-8")
        importlib.invalidate_caches()

    def add_engine(self, distribution: str, type: str, source: str, version: str = "1.0", requires: str = "") -> str:
        """Install a distribution whose one module, named after it, is engine ``type``; returns the module's name."""
        module = distribution.replace("-", "_")
        self.add(
            distribution,
            version,
            modules={module: source},
            entry_points={"inferlane.engines": {type: module}},
            requires=[requires] if requires else [],
        )
        return module

    def environ(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Variables for a subprocess that sees this folder first."""
        variables = dict(os.environ if base is None else base)
        before = variables.get("PYTHONPATH")
        variables["PYTHONPATH"] = f"{self.folder}{os.pathsep}{before}" if before else str(self.folder)
        return variables

    def imported(self) -> tuple[str, ...]:
        """Names of the modules that were imported from this folder."""
        return tuple(sorted(name for name, module in list(sys.modules.items()) if self._holds(module)))

    def activate(self) -> None:
        """Put the folder in front of ``sys.path``."""
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()

    def deactivate(self) -> None:
        """Take the folder off ``sys.path`` and forget what was imported from it."""
        sys.path[:] = [entry for entry in sys.path if entry != str(self.folder)]
        for name in self.imported():
            del sys.modules[name]
        importlib.invalidate_caches()

    def _holds(self, module: object) -> bool:
        place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
        return isinstance(place, str) and Path(place).is_relative_to(self.folder)
