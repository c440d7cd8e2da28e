"""Where a plan runs, and that this machine never stands in for a scheduler in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.errors import UsageFault
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.rehearsal import RehearsalOptions
from inferlane.running.start import Wish, launcher_name, start

QUICKSTART = str(Path(__file__).parents[3] / "examples/quickstart.yaml")


@pytest.fixture
def on_a_scheduled_site(tmp_path: Path) -> Prepared:
    cluster = tmp_path / "site.yaml"
    cluster.write_text("default_partition: gpu\n")
    return prepare(Request(QUICKSTART, str(cluster)), Plugins())


def test_without_a_cluster_file_it_is_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert launcher_name(Wish(Request(QUICKSTART)), prepare(Request(QUICKSTART), Plugins())) == "local"


def test_a_cluster_file_for_a_scheduler_is_not_run_here_unless_told_so(on_a_scheduled_site: Prepared) -> None:
    assert launcher_name(Wish(Request(QUICKSTART)), on_a_scheduled_site) == "slurm"
    assert launcher_name(Wish(Request(QUICKSTART), launcher="local"), on_a_scheduled_site) == "local"


def test_a_rehearsal_is_on_this_machine_unless_told_otherwise(on_a_scheduled_site: Prepared) -> None:
    assert launcher_name(Wish(Request(QUICKSTART), rehearsal=RehearsalOptions()), on_a_scheduled_site) == "local"
    told = Wish(Request(QUICKSTART), launcher="slurm", rehearsal=RehearsalOptions())
    assert launcher_name(told, on_a_scheduled_site) == "slurm"


def test_a_launcher_that_is_not_installed_is_refused_by_name(on_a_scheduled_site: Prepared) -> None:
    with pytest.raises(UsageFault, match="nowhere"):
        start(Wish(Request(QUICKSTART), launcher="nowhere"), Plugins(), lambda folder: None)
