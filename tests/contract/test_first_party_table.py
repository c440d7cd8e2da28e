"""The table behind ``pip install ...`` hints agrees with what the project's own distributions really add."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from inferlane.plugins.first_party import first_party_table
from inferlane.plugins.kinds import KINDS

PROJECTS = sorted((Path(__file__).parents[2] / "plugins").glob("*/pyproject.toml"))


@pytest.mark.parametrize("path", PROJECTS, ids=[path.parent.name for path in PROJECTS])
def test_every_entry_point_of_a_plugin_of_this_repository_is_in_the_table(path: Path) -> None:
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    listed = first_party_table()[project["name"]]

    for kind, facts in KINDS.items():
        declared = project.get("entry-points", {}).get(facts.group, {})
        assert set(declared) <= set(listed.get(kind, ()))


def test_no_type_has_two_distributions_in_the_table() -> None:
    claims = [(kind, word) for kinds in first_party_table().values() for kind, words in kinds.items() for word in words]

    assert len(claims) == len(set(claims))
    assert {kind for kind, _ in claims} <= set(KINDS)
