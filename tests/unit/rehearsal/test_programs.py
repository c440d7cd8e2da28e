"""Whether this machine has a program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inferlane.errors import RunFault
from inferlane.rehearsal import programs


def test_another_interpreter_is_asked_without_importing_the_module() -> None:
    assert programs.has_module(sys.executable, "json")
    assert not programs.has_module(sys.executable, "no_such_module_at_all")


def test_an_interpreter_that_does_not_answer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "python3"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(programs, "_ANSWER_S", 0.2)
    with pytest.raises(RunFault, match="did not say within 0 s whether it has the module 'json'"):
        programs.has_module(str(slow), "json")
