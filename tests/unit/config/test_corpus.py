"""Real files that people use: each loads, or is refused for a reason that is listed here.

The folder is named by ``INFERLANE_CORPUS``; without it, ``shared/corpus`` beside the checkout.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from inferlane.config import choose_variants, load_cluster, load_recipe, resolve
from inferlane.config.files import read
from inferlane.config.nodes import plain
from inferlane.config.variants import document
from inferlane.errors import InferlaneError

CORPUS = Path(os.environ.get("INFERLANE_CORPUS") or Path(__file__).resolve().parents[4] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}; name one in INFERLANE_CORPUS")

REASONS = {
    "older format": r"older recipe format \(schema 1\)",
    "no schema": r"schema: missing",
    "not valid YAML": r"not valid YAML",
    "not supported yet": r": [a-z_.]+: not supported yet",
}
SITE_REASONS = {"a key of no version": r"default_container: unknown key; did you mean 'containers'\?$"}


def references(path: Path) -> list[str]:
    """A file's selectors, each of one recipe, or the file itself."""
    try:
        found = document(read(path, str(path)), str(path))
    except InferlaneError:
        return [str(path)]
    if found.base is None:
        return [str(path)]
    return [f"{path}:{variant.name}" for variant in (found.base, *found.variants)]


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


def test_every_variant_of_schema_2_loads_under_a_name_of_its_own() -> None:
    counts = {}
    for path in files("recipes/**/schema2/**/*.yaml"):
        if len(references(path)) == 1:
            continue
        chosen = [variant.name for variant in choose_variants(str(path)).variants]
        names = {load_recipe(f"{path}:{name}").recipe.name for name in chosen}
        assert len(names) == len(chosen)
        counts[path.name] = len(chosen)
    assert counts == {"fp4-disagg-fixed-seq.yaml": 12}


def test_every_group_of_the_older_format_splits_into_as_many_as_it_has_names() -> None:
    counts: Counter[int] = Counter()
    for path in files("recipes/**/schema1/**/*.yaml"):
        try:
            root = read(path, str(path))
        except InferlaneError:
            continue
        found = document(root, str(path))
        if found.base is None:
            continue
        assert found.faults == ()
        for key, block in plain(root).items():
            names = [plain(v.root)["name"] for v in found.variants if v.name.startswith(f"{key}[")]
            if key.startswith("zip_override_"):
                assert names == block.get("name", names)
                counts[len(names)] += 1
    print(dict(counts))
    assert sum(counts.values()) == 13
    assert 0 not in counts


def test_every_cluster_file_loads_or_is_refused_for_a_listed_reason() -> None:
    rows = [(str(path), outcome(str(path), SITE_REASONS)) for path in files("clusters/**/*.yaml")]
    table(rows)
    assert [row for row in rows if row[1] not in ("loads", *SITE_REASONS)] == []
    assert sum(result == "loads" for _, result in rows) >= 12
