"""Real files that people use: what each gives, counted. ``-s`` prints the table.

The folder is named by ``INFERLANE_CORPUS``; without it, ``shared/corpus`` beside the checkout. What a recipe should
give follows from its folder (``schema1``, ``schema2``, ...) and from the engines it names, not from its outcome.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from inferlane.config import load_cluster, load_recipe
from inferlane.config.files import read
from inferlane.config.nodes import walk
from inferlane.config.paths import join
from inferlane.config.variants import document
from inferlane.errors import InferlaneError
from inferlane.planning import Shape
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare
from inferlane.testing.plans import assert_ports_disjoint
from inferlane.values import Plan

CORPUS = Path(os.environ.get("INFERLANE_CORPUS") or Path(__file__).resolve().parents[4] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}; name one in INFERLANE_CORPUS")

PLACE = r".+\.yaml:\d+:\d+: [\w.\[\]]+: "
ABSENT = r"no installed plugin adds \w+ '[\w-]+'"
MISSING = (
    r"(engine|router) '(vllm|atom|vllm-router|atomesh)' needs a plugin that is not installed: pip install inferlane-"
)
ANSWERS = {
    "older format": PLACE + r"this is the older recipe format \(schema 1\); convert it with ",
    "not valid YAML": r".+\.yaml:\d+:\d+: not valid YAML: ",
    "no recipe": PLACE + "missing; write 'schema: 2' as the first line",
    "plugin missing": MISSING,
    "named": PLACE + rf"(not supported yet|{ABSENT}|{MISSING})",
}
"""Every line of a refusal must match the answer's expression from its beginning."""
RECIPES = {"older format": 67, "not valid YAML": 1, "no recipe": 1, "plans": 10, "plugin missing": 10, "named": 20}
VARIANTS = {"plans": 22, "older format": 131}
NAMED_THOUGH_READ = {
    "dynamo-source.yaml": "another router",
    "pools.yaml": "nodes of a service's own",
    "power-profiling-isolation.yaml": "samples that must be there",
    "profiling.yaml": "profiling",
    "sglang-sidecar-multinode-disagg-dp.yaml": "sidecars and their router",
    "sglang-weight-cache.yaml": "restarts, and a service's preamble",
    "worker-restart.yaml": "restarts, and another router",
}
"""Recipes for engines that are here which ask for what is not."""
USUAL_WARNINGS = r"is not a flag|ambiguous|but each worker has|both ends|dp-aware|reach ranks"


class Row(NamedTuple):
    """One recipe of one file, what it gives, and the plan if it plans."""

    file: Path
    reference: str
    answer: str
    plan: Plan | None = None


def files(pattern: str) -> list[Path]:
    return sorted(CORPUS.glob(pattern)) if CORPUS.is_dir() else []


def references(path: Path) -> list[str]:
    """A file's recipes: its variants, or the file itself."""
    try:
        found = document(read(path, str(path)), str(path))
    except InferlaneError:
        return [str(path)]
    return [str(path)] if found.base is None else [f"{path}:{v.name}" for v in (found.base, *found.variants)]


def answered(error: InferlaneError) -> str:
    """The answer that all lines are; the text itself where it is none that is listed."""
    lines = str(error).splitlines()
    for name, expression in ANSWERS.items():
        code = 3 if name == "plugin missing" else 2
        if error.exit_code == code and all(re.match(expression, line) for line in lines):
            single = name in ("named", "plugin missing") or len(lines) == 1
            return name if single else f"{name}, in {len(lines)} lines"
    return str(error)


def outcome(reference: str, path: Path, plugins: Plugins) -> Row:
    try:
        plan = prepare(Request(reference), plugins).plan(Shape())
    except InferlaneError as error:
        return Row(path, reference, answered(error))
    return Row(path, reference, "plans", plan)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Everything, once; away from any cluster file."""
    plugins = Plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nowhere"))
        found = [outcome(ref, path, plugins) for path in files("recipes/**/*.yaml") for ref in references(path)]
    for row in found:
        print(f"{row.answer.splitlines()[0]:15} {Path(row.reference).relative_to(CORPUS)}")
    return found


def engines(path: Path) -> set[str]:
    """The engines that a file of schema 2 names, read by another loader."""
    keys = yaml.safe_load(path.read_text(encoding="utf-8"))
    blocks = [keys, *(value for value in keys.values() if isinstance(value, dict))]
    named = [block.get("engine") or block.get("backend") for block in blocks]
    for block in blocks:
        named += [role.get("engine") for role in (block.get("roles") or {}).values() if isinstance(role, dict)]
    return {engine if isinstance(engine, str) else engine["type"] for engine in named if engine}


def expected(path: Path) -> set[str]:
    """What a file may give, by its folder and its engines."""
    parts = path.relative_to(CORPUS).parts
    if "invalid-yaml" in parts:
        return {"not valid YAML"}
    if "not-a-recipe" in parts:
        return {"no recipe"}
    if "schema1" in parts:
        return {"older format"}
    named = engines(path)
    if named and named <= {"sglang", "mock"}:
        return {"named"} if path.name in NAMED_THOUGH_READ else {"plans"}
    return {"plugin missing", "named"} if named & {"vllm", "atom"} else {"named"}


def test_every_recipe_gives_what_its_folder_and_engines_say(rows: list[Row]) -> None:
    assert [(row.reference, row.answer) for row in rows if row.answer not in expected(row.file)] == []


def test_the_answers_are_as_many_as_they_were(rows: list[Row]) -> None:
    counts = Counter(answer for _, answer in {(row.file, row.answer) for row in rows})
    variants = Counter(row.answer for row in rows)
    print(f"files: {dict(counts)}; with their variants: {dict(variants)}")
    assert dict(counts) == RECIPES
    assert {answer: variants[answer] for answer in VARIANTS} == VARIANTS


def test_every_plan_of_a_real_recipe_has_disjoint_ports_and_warns_of_nothing_unusual(rows: list[Row]) -> None:
    plans = [(row.reference, row.plan) for row in rows if row.plan is not None]
    for _, plan in plans:
        assert_ports_disjoint(plan)
    unusual = [
        (ref, w.message) for ref, plan in plans for w in plan.warnings if not re.search(USUAL_WARNINGS, w.message)
    ]
    assert unusual == []
    assert {plan.protocol for _, plan in plans} == {"sglang-pd", "openai"}


def held(value: Any, path: tuple[str | int, ...]) -> bool:
    """Whether a checked document has something at ``path``, or ends above it in what a plugin reads."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def test_recipes_for_plugins_that_are_not_here_are_read_whole(rows: list[Row]) -> None:
    waiting = [row for row in rows if row.answer == "plugin missing"]
    lost = []
    for row in waiting:
        loaded = load_recipe(row.reference)
        checked = loaded.recipe.model_dump(by_alias=True)
        for path, node in walk(read(row.file, str(row.file))):
            noted = any(join(path).startswith(key) for key in loaded.inert)
            short = path == ("engine",) and isinstance(node.value, str)
            if node.value is not None and not noted and not short and not held(checked, path):
                lost.append(f"{row.file.name}: {join(path)}")
    assert lost == []
    assert waiting


def test_every_cluster_file_loads() -> None:
    refused: list[str] = []
    found = files("clusters/**/*.yaml")
    for path in found:
        try:
            loaded = load_cluster(str(path), {}, CORPUS)
        except InferlaneError as error:
            refused += str(error).splitlines()
            continue
        assert loaded.source.root.mark.line
    print(f"cluster files: {len(found)}")
    assert len(found) == 13
    assert refused == []
