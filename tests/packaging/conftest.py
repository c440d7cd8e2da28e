"""The wheels of every distribution of this repository, built once, without network and without build isolation."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Built:
    """A distribution: its folder, its ``[project]`` table, and its wheel."""

    folder: Path
    project: Mapping[str, Any]
    wheel: Path

    @property
    def name(self) -> str:
        return str(self.project["name"])

    @property
    def files(self) -> list[str]:
        """What the wheel installs, without metadata."""
        return [name for name in zipfile.ZipFile(self.wheel).namelist() if ".dist-info/" not in name]

    def metadata(self, name: str) -> str:
        with zipfile.ZipFile(self.wheel) as archive:
            (found,) = [entry for entry in archive.namelist() if entry.endswith(f".dist-info/{name}")]
            return archive.read(found).decode()


def build(folder: Path, target: Path) -> Built:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = target.glob("*.whl")
    return Built(folder, tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"], wheel)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    """The core first."""
    folders = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
    return [build(folder, tmp_path_factory.mktemp("wheel")) for folder in folders]


@pytest.fixture(scope="session")
def unpacked(distributions: list[Built], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like ``site-packages`` with every wheel in it."""
    folder = tmp_path_factory.mktemp("site-packages")
    for built in distributions:
        with zipfile.ZipFile(built.wheel) as archive:
            archive.extractall(folder)
    return folder
