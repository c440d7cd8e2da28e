"""Real files that people use: each loads, or is refused for a reason that is listed here.

The folder is named by ``INFERLANE_CORPUS``; without it, ``shared/corpus`` beside the checkout.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from inferlane.config import load_cluster, load_recipe, resolve
from inferlane.config.files import read
from inferlane.errors import InferlaneError

CORPUS = Path(os.environ.get("INFERLANE_CORPUS") or Path(__file__).resolve().parents[4] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}; name one in INFERLANE_CORPUS")

REASONS = {
    "older format": r"older recipe format \(schema 1\)",
    "no schema": r"schema: missing",
    "zip variants": r"zip_override is not supported yet|need a 'base' block",
    "not valid YAML": r"not valid YAML",
    "not supported yet": r": [a-z_.]+: not supported yet",
}
SITE_REASONS = {"a key of no version": r"default_container: unknown key; did you mean 'containers'\?$"}


def references(path: Path) -> list[str]:
    """A file's selectors, or the file itself."""
    try:
        keys = read(path, str(path)).value
    except InferlaneError:
        return [str(path)]
    assert isinstance(keys, dict)
    names = [name for name in keys if name == "base" or name.startswith(("override_", "zip_override_"))]
    return [f"{path}:{name}" for name in names] or [str(path)]


def outcome(reference: str, reasons: dict[str, str]) -> str:
    """``loads``, or the listed reason that every line of the refusal falls under; else the refusal itself."""
    try:
        loaded = load_recipe(reference) if reasons is REASONS else load_cluster(reference, {}, CORPUS)
    except InferlaneError as error:
        found = [
            next((why for why, text in reasons.items() if re.search(text, line)), line)
            for line in str(error).splitlines()
        ]
        return ", ".join(dict.fromkeys(found))
    assert loaded.source.root.mark.line
    return "loads"


def files(pattern: str) -> list[Path]:
    found = sorted(CORPUS.glob(pattern))
    assert found, f"nothing matches {pattern} in {CORPUS}"
    return found


def table(rows: list[tuple[str, str]]) -> None:
    for reference, result in rows:
        print(f"{result:22} {Path(reference).relative_to(CORPUS)}")
    print(dict(Counter(result for _, result in rows)))


def test_every_recipe_loads_or_is_refused_for_a_listed_reason() -> None:
    rows = [(ref, outcome(ref, REASONS)) for path in files("recipes/**/*.yaml") for ref in references(path)]
    table(rows)
    assert [row for row in rows if row[1] not in ("loads", *REASONS)] == []


def test_every_recipe_of_the_older_format_is_told_so_in_one_line() -> None:
    for path in files("recipes/**/schema1/**/*.yaml"):
        with pytest.raises(InferlaneError) as caught:
            load_recipe(references(path)[0])
        assert len(str(caught.value).splitlines()) == 1


def test_every_variant_of_a_recipe_for_the_first_engine_loads() -> None:
    refused = {"sglang-sidecar-multinode-disagg-dp.yaml", "sglang-weight-cache.yaml"}
    paths = [p for p in files("recipes/**/schema2/**/*.yaml") if "sglang" in str(p.relative_to(CORPUS))]
    wanted = [ref for path in paths if path.name not in refused for ref in references(path)]
    assert len(wanted) >= 19
    empty = load_cluster(None, {}, CORPUS)
    for reference in wanted:
        resolved = resolve(load_recipe(reference), empty)
        assert resolved.recipe.roles
        assert resolved.origin("name").count(":") >= 2


def test_every_cluster_file_loads_or_is_refused_for_a_listed_reason() -> None:
    rows = [(str(path), outcome(str(path), SITE_REASONS)) for path in files("clusters/**/*.yaml")]
    table(rows)
    assert [row for row in rows if row[1] not in ("loads", *SITE_REASONS)] == []
    assert sum(result == "loads" for _, result in rows) >= 12
