"""The core knows no engine, no router and no vendor: nothing outside the exempt folders may name one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import inferlane

CORE = Path(inferlane.__file__).parent
EXEMPT = {"builtin", "testing", "twins"}
WORDS = "sglang|vllm|atom|atomesh|mori|moriio|rocm|rocr|amd|nvidia|dcgm|cuda|hip|smg|trtllm|dynamo|umbp|mock|nccl"
NAMES = re.compile(rf"(?i)(?<![a-z0-9])({WORDS})(?![a-z0-9])")
"""Parts of longer names count too, such as those of a vendor's variables."""
FILES = sorted(path for path in CORE.rglob("*.py") if not EXEMPT & set(path.relative_to(CORE).parts))


def test_the_files_of_the_core_are_found() -> None:
    assert len(FILES) > 50
    assert CORE / "planning" / "build.py" in FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_core_file_names_no_engine_router_or_vendor(path: Any) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [f"{path.name}:{number}: {line.strip()}" for number, line in enumerate(lines, 1) if NAMES.search(line)]
    assert not found
