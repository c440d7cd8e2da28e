"""Real Slurm clusters of one machine. The tests of this folder run only when asked for: ``make test-slurm``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from inferlane.testing.slurm_lab import Lab, Site, missing, running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A plain ``pytest`` leaves them out."""
    named = any("tests/slurm" in str(word) for word in config.invocation_params.args)
    if not named and "slurm" not in config.getoption("-m"):
        out = [item for item in items if item.get_closest_marker("slurm") and HERE in item.path.parents]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]


@pytest.fixture(scope="session")
def labs() -> Iterator[Callable[[Site], Lab]]:
    """A lab for each kind of site, started when first asked for; all end with the session, and leave nothing."""
    if reason := missing():
        pytest.skip(f"real Slurm: {reason}")
    found: dict[Site, Lab] = {}
    with ExitStack() as stack:

        def start(site: Site) -> Lab:
            if site not in found:
                found[site] = stack.enter_context(running(HERE / "lab", HERE.parent.parent, site))
            return found[site]

        yield start


@pytest.fixture(scope="session")
def lab(labs: Callable[[Site], Lab]) -> Lab:
    """Four nodes with eight GPUs and two addresses each."""
    return labs(Site())
