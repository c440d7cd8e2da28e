"""The command line itself: lazy, and one line per error."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from inferlane.cli import main as module
from inferlane.cli.lazy import LazyCommand
from inferlane.cli.main import COMMANDS, main
from inferlane.errors import EXIT_INTERRUPTED, EXIT_USAGE, RunFault


def loaded_after(code: str) -> set[str]:
    text = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_of_weight(option: str) -> None:
    loaded = loaded_after(f"from inferlane.cli.main import main; main([{option!r}])")

    heavy = {"pydantic", "msgspec", "pluggy", "yaml", "requests", "rich", "aiohttp", "importlib.metadata"}
    assert heavy & loaded == set()
    assert {name for name in loaded if name.startswith("inferlane.")} == {
        "inferlane.cli",
        "inferlane.cli.documents",
        "inferlane.cli.lazy",
        "inferlane.cli.main",
        "inferlane.cli.streams",
        "inferlane.errors",
    }


def test_listing_imports_no_pydantic_and_no_pluggy() -> None:
    loaded = loaded_after("from inferlane.cli.main import main; main(['plugins', 'list'])")

    assert {"pydantic", "pluggy", "msgspec", "inferlane.api"} & loaded == set()


def command_that(action: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a command ``act`` that raises ``action`` into the table."""

    @click.command()
    def act() -> None:
        assert isinstance(action, BaseException)
        raise action

    monkeypatch.setattr(module, "act", act, raising=False)
    monkeypatch.setitem(COMMANDS, "act", LazyCommand("inferlane.cli.main:act", "act"))


def test_an_unexpected_error_is_one_line_that_offers_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_that(KeyError("a\nb"), monkeypatch)

    assert main(["act"]) == 1
    assert capsys.readouterr().err == "error: KeyError: 'a\\nb'; run with --debug for a traceback\n"


@pytest.mark.parametrize("how", ["option", "variable"])
def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    command_that(KeyError("a"), monkeypatch)
    if how == "variable":
        monkeypatch.setenv("INFERLANE_DEBUG", "1")

    assert main(["--debug", "act"] if how == "option" else ["act"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_each_fault_of_an_error_gets_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_that(RunFault("first\nsecond"), monkeypatch)

    assert main(["act"]) == 1
    assert capsys.readouterr().err == "error: first\nerror: second\n"


def test_an_interrupt_ends_with_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    command_that(KeyboardInterrupt(), monkeypatch)

    assert main(["act"]) == EXIT_INTERRUPTED


def test_an_unknown_command_is_a_usage_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin"]) == EXIT_USAGE
    assert "no such command 'plugin'; did you mean 'plugins'?" in capsys.readouterr().err


def test_a_reader_that_stops_early_is_no_error() -> None:
    code = "import sys; from inferlane.cli.main import main; sys.exit(main(['plugins', 'hooks']))"
    reader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stderr is not None
    reader.stdout.close()

    error = reader.stderr.read()
    reader.stderr.close()
    reader.wait(timeout=60)

    assert error == b""
