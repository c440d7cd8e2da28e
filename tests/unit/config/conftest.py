"""Fixtures of the configuration tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.config import LoadedCluster, LoadedRecipe, load_cluster, load_recipe
from inferlane.errors import InferlaneError

MINIMAL = """\
schema: 2
name: demo
model: {path: "hf:org/model"}
resources: {gpu_type: h100, gpus_per_node: 8}
engine: toy
frontend: {type: none}
roles:
  agg:
    nodes: 1
    gpus: 1
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file into the working directory of the test; answers its name."""
    monkeypatch.chdir(tmp_path)

    def _write(text: str | bytes, name: str = "recipe.yaml") -> str:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return name

    return _write


@pytest.fixture
def recipe(write: Callable[..., str]) -> Callable[..., LoadedRecipe]:
    """Load the minimal recipe with more text after it."""

    def _load(more: str = "", *, text: str = MINIMAL, sets: tuple[str, ...] = (), **edits: Any) -> LoadedRecipe:
        return load_recipe(write(text + more), sets, edits.get("unsets", ()))

    return _load


@pytest.fixture
def refused(recipe: Callable[..., LoadedRecipe]) -> Callable[..., str]:
    """What loading is refused with; fails if it is not."""

    def _text(more: str = "", **options: Any) -> str:
        with pytest.raises(InferlaneError) as caught:
            recipe(more, **options)
        assert caught.value.exit_code == 2
        return str(caught.value)

    return _text


@pytest.fixture
def cluster(write: Callable[..., str], tmp_path: Path) -> Callable[..., LoadedCluster]:
    """Load a cluster file of the given text."""

    def _load(text: str, environ: dict[str, str] | None = None) -> LoadedCluster:
        return load_cluster(write(text, "cluster.yaml"), environ or {}, tmp_path)

    return _load
