"""What every drill checks of the end of a run; that nothing is left is checked by ``start``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from inferlane.running.outcome import EXIT_CODES
from inferlane.testing.runs import Running


@pytest.fixture
def ends() -> Callable[..., tuple[dict[str, Any], str]]:
    """Wait for the end; verdict, exit code, cause and the culprit's last words must be these. Gives both records."""

    def check(
        run: Running,
        verdict: str,
        kind: str | None = None,
        process: str | None = None,
        *words: str,
        seconds: float = 30,
    ) -> tuple[dict[str, Any], str]:
        began = time.monotonic()
        code, out = run.end(seconds)
        document = run.verdict()
        cause = document["cause"] or {}
        found = (document["verdict"], document["exit_code"], cause.get("kind"), cause.get("process"))
        assert found == (verdict, EXIT_CODES[verdict], kind, process), (out, cause)  # type: ignore[index]
        assert code == document["exit_code"] or "guardian" in run.killed
        assert document["clean"], document["left"]
        assert time.monotonic() - began < seconds
        for word in words:
            assert word in out
            assert word in cause["message"] or any(word in line for line in cause["log_tail"]), cause
        return document, out

    return check
