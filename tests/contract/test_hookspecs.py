"""The contract itself: each hook is annotated, explained, plainly called, and on the reference page."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from inferlane.cli.main import main
from inferlane.errors import EXIT_FAILED, EXIT_OK
from inferlane.plugins.contract import Hook, hooks

PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"
EACH_HOOK = pytest.mark.parametrize("hook", hooks().values(), ids=hooks().keys())


@EACH_HOOK
def test_a_hook_is_annotated_and_has_a_docstring(hook: Hook) -> None:
    signature = inspect.signature(hook.function)

    assert signature.return_annotation is not signature.empty
    assert all(parameter.annotation is not parameter.empty for parameter in signature.parameters.values())
    assert (hook.function.__doc__ or "").strip()


@EACH_HOOK
def test_a_hook_has_plain_parameters_without_defaults(hook: Hook) -> None:
    for parameter in inspect.signature(hook.function).parameters.values():
        assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        assert parameter.default is parameter.empty


@EACH_HOOK
def test_a_hook_has_the_project_prefix_and_a_section_in_the_reference(hook: Hook) -> None:
    assert hook.name.startswith("inferlane_")
    assert f"\n### {hook.name}\n" in PAGE.read_text(encoding="utf-8")


def test_the_reference_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "hooks", "--check", str(PAGE)]) == EXIT_OK, capsys.readouterr().err


def test_a_stale_reference_page_is_refused_with_the_command_that_renews_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "hooks.md"
    page.write_text(PAGE.read_text(encoding="utf-8") + "more\n", encoding="utf-8")

    assert main(["plugins", "hooks", "--check", str(page)]) == EXIT_FAILED
    assert f"is stale; write it anew: inferlane plugins hooks > {page}" in capsys.readouterr().err
