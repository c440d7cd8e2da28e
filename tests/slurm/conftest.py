"""Real Slurm clusters of one machine. The tests of this folder run only when asked for: ``make test-slurm``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.folder.events import read_events
from inferlane.testing.slurm_lab import USERS, Lab, Site, missing, running

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


class Tool:
    """The tool on a login node of a lab. ``user``: ``None`` is root. ``cluster``: content of its cluster file."""

    def __init__(self, lab: Lab, user: str | None, folder: Path, cluster: Mapping[str, object]) -> None:
        self.lab, self.user, self.outputs = lab, user, folder / "outputs"
        self._site = folder / "cluster.yaml"
        self._site.write_text(json.dumps({"cluster": "lab", **cluster}))

    def start(self, command: str, *words: str) -> subprocess.Popen[str]:
        """One of its commands."""
        return self.lab.start(self._argv(command, words), self.user)

    def call(self, command: str, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """One of its commands, to the end."""
        return self.lab.run(self._argv(command, words), self.user, timeout=timeout)

    def outcome(self, command: str, *words: str) -> tuple[int, dict[str, Any]]:
        """Exit code and ``run.json`` of a run."""
        done = self.call(command, *words)
        assert self.run is not None, done.stderr
        assert (self.run / "run.json").exists(), done.stderr + done.stdout
        return done.returncode, self.verdict()

    @property
    def run(self) -> Path | None:
        """The latest run's folder."""
        found = (
            sorted(self.outputs.iterdir(), key=lambda path: path.stat().st_mtime_ns) if self.outputs.exists() else []
        )
        return found[-1] if found else None

    def verdict(self) -> dict[str, Any]:
        """``run.json`` of the latest run."""
        assert self.run is not None
        return dict(json.loads((self.run / "run.json").read_text()))

    def has(self, event: str, **fields: object) -> bool:
        """Whether the latest run has recorded such an event."""
        if self.run is None or not (self.run / "events.jsonl").exists():
            return False
        found = read_events(self.run / "events.jsonl")
        return any(one["event"] == event and all(one.get(k) == v for k, v in fields.items()) for one in found)

    def until(self, event: str, seconds: float = 40, **fields: object) -> None:
        """Wait for an event of the latest run."""
        deadline = time.monotonic() + seconds
        while not self.has(event, **fields):
            if time.monotonic() > deadline:
                log = self.run / "job.log" if self.run else None
                pytest.fail(f"no {event} {fields}: {log.read_text() if log and log.exists() else 'no log'}")
            time.sleep(0.1)

    def _argv(self, command: str, words: tuple[str, ...]) -> list[str]:
        where = [] if command in ("cancel", "status", "logs", "wait") else ["--cluster", str(self._site)]
        return [sys.executable, "-m", "inferlane", command, *words, *where, "-o", str(self.outputs)]


PLAIN = {
    "launcher": "slurm",
    "default_partition": "main",
    "gpus_per_node": 8,
    "network_interface": "fab0",
    "use_segment_sbatch_directive": False,
}
"""The cluster file of most tests: addresses are those of the second interface."""


@pytest.fixture
def tool(labs: Callable[[Site], Lab]) -> Iterator[Callable[..., Tool]]:
    """``tool(user="ada", site=Site(), **keys of the cluster file)``. In the end every job is cancelled, every node
    idle, and nothing of any run is left anywhere.
    """
    made: list[Tool] = []

    def make(user: str | None = "ada", site: Site | None = None, **keys: object) -> Tool:
        lab = labs(site or Site())
        folder = Path(tempfile.mkdtemp(dir=lab.folder))
        folder.chmod(0o755)
        (folder / "outputs").mkdir()
        if user:
            shutil.chown(folder / "outputs", user=20001 + USERS.index(user), group=20001 + USERS.index(user))
        made.append(Tool(lab, user, folder, {**PLAIN, **keys}))
        return made[-1]

    yield make
    left = []
    for lab in {one.lab for one in made}:
        left += lab.left()
        lab.run(["scancel", "--partition=main"])
        lab.ready()
    assert left == []
