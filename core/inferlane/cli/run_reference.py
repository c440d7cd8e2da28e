"""How commands name a run: a path, an id, or nothing for the latest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from inferlane.running.folder.directory import RunDirectory
    from inferlane.slurm.record import JobId

F = TypeVar("F", bound=Callable[..., Any])


def outputs_option(command: F) -> F:
    """``-o``: where the run folders are."""
    text = "Folder of the run folders; default: the cluster file's output_dir, else ./outputs."
    return click.option("-o", "--output", metavar="FOLDER", help=text)(command)


def outputs_folder(output: str | None) -> Path:
    """``-o``, else the cluster file's ``output_dir``, else ``./outputs``: the same order as of ``run``."""
    if output is not None:
        return Path(output)
    from inferlane.config import here, load_cluster

    return Path(load_cluster(None, os.environ, here()).cluster.output_dir or "outputs")


def find_run(reference: str | None, output: str | None) -> RunDirectory:
    """The run that is meant: by path, id or the number of its job; a path needs no folder to look in."""
    from inferlane.running.folder.directory import find

    is_path = reference is not None and Path(reference).is_dir()
    outputs = Path() if is_path else outputs_folder(output)
    return (None if reference is None or is_path else _run_of_job(reference, outputs)) or find(reference, outputs)


def find_run_or_job(reference: str | None, output: str | None) -> tuple[RunDirectory | None, JobId | None]:
    """A run and its job, where it has one; a number may be any job of the scheduler, with or without a run here."""
    from inferlane.slurm.observe import job_of
    from inferlane.slurm.record import parse_id

    job = None if reference is None or Path(reference).is_dir() else parse_id(reference)
    if reference is not None and job is not None:
        return _run_of_job(reference, outputs_folder(output)), job
    run = find_run(reference, output)
    return run, job_of(run.path, os.environ)


def _run_of_job(reference: str, outputs: Path) -> RunDirectory | None:
    from inferlane.running.folder.directory import RunDirectory, all_runs
    from inferlane.slurm.record import find_job, parse_id

    job = parse_id(reference)
    found = None if job is None else find_job([run.path for run in all_runs(outputs)], job)
    return None if found is None else RunDirectory(found)


def find_processes(words: tuple[str, ...], output: str | None) -> tuple[RunDirectory, tuple[str, ...]]:
    """``[RUN] [PROCESS]...``: a first word that is no run's path or whole id may name a process of the latest run."""
    from inferlane.errors import UsageFault
    from inferlane.running.logs.following import processes_of

    run, names = _process_of_latest(words, output) or (find_run(words[0] if words else None, output), words[1:])
    known = processes_of(run)
    for name in names:
        if name not in known:
            raise UsageFault(f"{run.id} has no process {name}; it has {', '.join(known) or 'none'}")
    return run, names


def _process_of_latest(words: tuple[str, ...], output: str | None) -> tuple[RunDirectory, tuple[str, ...]] | None:
    from inferlane.running.folder.directory import all_runs, exact
    from inferlane.running.logs.following import processes_of

    if not words or exact(words[0], Path()) is not None:
        return None
    outputs = outputs_folder(output)
    runs = all_runs(outputs)
    if not runs or exact(words[0], outputs) is not None or words[0] not in processes_of(runs[-1]):
        return None
    return runs[-1], words
