"""The pages agree with the code: references, recipes, commands, links and dependencies."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import click
import pytest

from inferlane.cli.main import cli, main
from inferlane.plugins.contract import hooks
from inferlane.testing.plugin_site import PluginSite


def test_every_hook_has_a_section_in_the_reference(root: Path) -> None:
    sections = re.findall(r"^### (\w+)$", (root / "docs/hooks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == list(hooks())


def test_the_generated_pages_are_current(root: Path) -> None:
    command = [sys.executable, "-m", "tools.references", "--check"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_key_of_the_references_has_a_meaning(root: Path) -> None:
    pages = ("recipe.md", "cluster.md", "types.md")
    rows = [line for page in pages for line in (root / "docs" / page).read_text(encoding="utf-8").splitlines()]
    assert [row for row in rows if row.startswith("| `") and row.endswith("|  |")] == []


def test_every_recipe_on_a_page_is_accepted(
    fences: Callable[[str], list[Any]], llamacpp: PluginSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = [fence for fence in fences("yaml") if re.search(r"^schema: 2$", fence.text, re.MULTILINE)]
    assert len(recipes) >= 3
    for fence in recipes:
        path = tmp_path / "recipe.yaml"
        path.write_text(fence.text, encoding="utf-8")
        assert main(["check", "--strict", str(path)]) == 0, f"{fence}: {capsys.readouterr().err}"


def test_relative_links_lead_somewhere(pages: list[Path]) -> None:
    broken = []
    for page in pages:
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        targets = [target for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in target]
        broken += [f"{page.name}: {target}" for target in targets if not (page.parent / target).exists()]
    assert broken == []


def commands_in(fence_texts: list[str], page_texts: list[str]) -> Iterator[list[str]]:
    """The words of each ``inferlane`` command line in console blocks and in inline code."""
    lines = [line for text in fence_texts for line in text.splitlines()]
    lines += [" ".join(found.split()) for text in page_texts for found in re.findall(r"`([^`]+)`", text)]
    for line in lines:
        match = re.match(r"(?:\$ )?(?:\.venv/bin/)?inferlane((?: .*)?)$", line.partition(" #")[0].rstrip())
        if match:
            yield match[1].split()


def unknown_words(words: list[str]) -> list[str]:
    """Commands and options of a command line that do not exist."""
    command: click.Command = cli
    context = click.Context(cli)
    known = {option for parameter in cli.params for option in parameter.opts}
    while words and isinstance(command, click.Group):
        name, *words = words
        if name.startswith("-"):
            continue
        found = command.get_command(context, re.split(r"\W", name)[0])
        if found is None:
            return [name]
        command = found
        known |= {option for parameter in command.params for option in parameter.opts}
    return [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


def test_a_command_or_option_that_does_not_exist_is_noticed() -> None:
    assert unknown_words(["rehears", "recipe.yaml"]) == ["rehears"]
    assert unknown_words(["run", "recipe.yaml", "--nodes"]) == ["--nodes"]
    assert unknown_words(["--disable", "plugins", "show", "engine", "mock"]) == []


def test_every_command_and_option_on_a_page_exists(fences: Callable[[str], list[Any]], pages: list[Path]) -> None:
    own = [page.read_text(encoding="utf-8") for page in pages if page.name != "CHANGELOG.md"]
    lines = list(commands_in([fence.text for fence in fences("console")], own))
    assert len(lines) > 25
    assert [line for line in lines if unknown_words(line)] == []


def third_party(root: Path) -> set[str]:
    """Distributions that the core imports anywhere."""
    names: set[str] = set()
    for path in root.glob("core/inferlane/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").partition(".")[0])
    installed = packages_distributions()
    foreign = names - sys.stdlib_module_names - {"inferlane", "pytest"}
    return {installed.get(name, [name])[0].lower().replace("_", "-") for name in foreign}


def listed(root: Path, section: str) -> set[str]:
    """The first column of a table of the dependencies page."""
    page = (root / "docs/dependencies.md").read_text(encoding="utf-8")
    table = page.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| ([\w-]+) \|", table, re.MULTILINE)) - {"distribution"}


def test_the_dependencies_page_names_what_the_core_imports(root: Path) -> None:
    with_pydantic = {"pydantic-core"}
    assert listed(root, "Core") | listed(root, "Optional") == third_party(root) - with_pydantic


def test_what_the_core_needs_is_declared(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w-]", item)[0].lower() for item in project["dependencies"]}
    assert listed(root, "Core") <= declared
    assert listed(root, "Optional") & declared == set()
