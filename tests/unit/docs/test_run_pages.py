"""What the pages on runs and rehearsals list is what the code knows."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from inferlane import errors
from inferlane.load import spec
from inferlane.rehearsal.scale import LIMIT
from inferlane.running.outcome import Cause, Outcome
from inferlane.twins import faults
from inferlane.values import PHASES


@pytest.fixture(scope="module")
def run_page(root: Path) -> str:
    return (root / "docs/run.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rehearsal_page(root: Path) -> str:
    return (root / "docs/rehearsal.md").read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    """The words in code marks below a heading."""
    found = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, title
    return found


def marked(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_every_exit_code_is_listed(run_page: str) -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", section(run_page, "Exit codes"), re.MULTILINE)}
    assert listed == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}


def test_every_event_is_listed(run_page: str, root: Path) -> None:
    sources = [path.read_text(encoding="utf-8") for path in root.glob("core/inferlane/running/*.py")]
    written = {name for text in sources for name in re.findall(r'events\.write\(\s*"([a-z.]+)"', text)}
    assert len(written) > 8
    assert written <= marked(section(run_page, "events.jsonl"))


def test_every_key_of_the_verdict_is_listed(run_page: str) -> None:
    keys = {field.name for model in (Outcome, Cause) for field in msgspec.structs.fields(model)}
    assert keys <= marked(section(run_page, "run.json"))


def test_the_phases_are_listed_in_order(run_page: str) -> None:
    found = re.findall(r"^\| `(\w+)` \|", section(run_page, "Phases and gates"), re.MULTILINE)
    assert tuple(found) == PHASES


def test_every_fault_of_a_twin_is_listed(rehearsal_page: str) -> None:
    listed = set(re.findall(r"^\| `([^`]+)` \|", section(rehearsal_page, "Options"), re.MULTILINE))
    with pytest.raises(ValueError, match="is none of") as refused:
        faults.parse_fault("no such fault")
    assert listed == set(str(refused.value).partition("is none of ")[2].split(", "))


def test_the_caps_are_the_load_clients(rehearsal_page: str) -> None:
    caps = section(rehearsal_page, "Caps")
    for text in (
        f"{spec.MAX_ISL} and {spec.MAX_OSL} tokens",
        f"{spec.MAX_REQUESTS:,}",
        f"{spec.MAX_SECONDS:g} seconds",
    ):
        assert text in caps
    assert f"| concurrency | {spec.MAX_CONCURRENCY} |" in caps
    assert f"at most {LIMIT} workers" in caps
