"""Real recipes that people use for engines that are installed: each plans, or is refused for a reason listed here.

The folder is named by ``INFERLANE_CORPUS``; without it, ``shared/corpus`` beside the checkout.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferlane.config import load_recipe
from inferlane.config.files import read
from inferlane.errors import InferlaneError
from inferlane.planning import Shape
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare
from inferlane.testing.plans import assert_ports_disjoint

CORPUS = Path(os.environ.get("INFERLANE_CORPUS") or Path(__file__).resolve().parents[4] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus; name its folder in INFERLANE_CORPUS")


def sglang_recipes() -> Iterator[str]:
    """Every recipe of schema 2, and every variant, whose engine is SGLang throughout."""
    for path in sorted(CORPUS.glob("recipes/*/schema2/**/*.yaml")):
        try:
            keys = read(path, str(path)).value
        except InferlaneError:
            continue
        variants = [f"{path}:{name}" for name in keys if name.startswith("override_")] if isinstance(keys, dict) else []
        for reference in variants or [str(path)]:
            try:
                recipe = load_recipe(reference).recipe
            except InferlaneError:  # refused while reading: counted by the test of reading
                continue
            engines = [block.engine or recipe.engine for block in recipe.roles.values()]
            if engines and all(engine and engine["type"] == "sglang" for engine in engines):
                yield reference


def test_every_sglang_recipe_plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    outcomes: Counter[str] = Counter()
    faults = []
    for reference in sglang_recipes():
        try:
            plan = prepare(Request(reference), Plugins()).plan(Shape())
        except InferlaneError as error:
            known = all("not supported yet" in line for line in str(error).splitlines())
            outcomes["not supported yet"] += known
            faults += [] if known else [f"{reference}: {error}"]
            continue
        assert_ports_disjoint(plan)
        outcomes[plan.protocol] += 1
        unexpected = [
            w.message
            for w in plan.warnings
            if not re.search(r"flag|ambiguous|GPUs|both ends|dp-aware|ranks", w.message)
        ]
        assert unexpected == [], reference
    print(dict(outcomes))
    assert faults == []
    assert outcomes["sglang-pd"] >= 10
    assert outcomes["openai"] >= 1
