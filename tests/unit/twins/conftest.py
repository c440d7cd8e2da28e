from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inferlane.testing.programs import Programs


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    with Programs(tmp_path) as started:
        yield started
