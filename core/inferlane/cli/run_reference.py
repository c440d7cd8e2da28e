"""How commands name a run: a path, an id, or nothing for the latest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from inferlane.running.directory import RunDirectory

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
    """The run that is meant; a path needs no folder to look in."""
    from inferlane.running.directory import find

    is_path = reference is not None and Path(reference).is_dir()
    return find(reference, Path() if is_path else outputs_folder(output))


def find_processes(words: tuple[str, ...], output: str | None) -> tuple[RunDirectory, tuple[str, ...]]:
    """``[RUN] [PROCESS]...``: a first word that is no run's path or whole id may name a process of the latest run."""
    from inferlane.errors import UsageFault
    from inferlane.running.following import processes_of

    run, names = _process_of_latest(words, output) or (find_run(words[0] if words else None, output), words[1:])
    known = processes_of(run)
    for name in names:
        if name not in known:
            raise UsageFault(f"{run.id} has no process {name}; it has {', '.join(known) or 'none'}")
    return run, names


def _process_of_latest(words: tuple[str, ...], output: str | None) -> tuple[RunDirectory, tuple[str, ...]] | None:
    from inferlane.running.directory import all_runs, exact
    from inferlane.running.following import processes_of

    if not words or exact(words[0], Path()) is not None:
        return None
    outputs = outputs_folder(output)
    runs = all_runs(outputs)
    if not runs or exact(words[0], outputs) is not None or words[0] not in processes_of(runs[-1]):
        return None
    return runs[-1], words
