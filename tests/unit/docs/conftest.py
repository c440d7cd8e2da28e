"""Reading the Markdown pages of the repository."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from inferlane.testing.plugin_site import PluginSite

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Fence:
    """A fenced block: where it starts, its language, its text."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def read_fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Fence(page, text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in found]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def pages() -> list[Path]:
    """Every page that people read."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]
    assert len(found) > 15
    return sorted(found)


@pytest.fixture(scope="session")
def fences(pages: list[Path]) -> Callable[[str], list[Fence]]:
    """The blocks of one language, on all pages."""
    every = [fence for page in pages for fence in read_fences(page)]

    def of(language: str) -> list[Fence]:
        return [fence for fence in every if fence.language == language]

    return of


@pytest.fixture(scope="session")
def example() -> Path:
    """The folder of the plugin guide's example."""
    return ROOT / "docs/examples/llamacpp_plugin"


@pytest.fixture
def llamacpp(plugin_site: PluginSite, example: Path) -> PluginSite:
    """A site where the example is installed."""
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin_site.add(
        project["name"],
        project["version"],
        modules={
            ".".join(path.relative_to(example / "src").with_suffix("").parts): path.read_text(encoding="utf-8")
            for path in example.glob("src/*/*.py")
            if path.stem != "__init__"
        },
        entry_points=project["entry-points"],
        requires=project["dependencies"],
    )
    return plugin_site
