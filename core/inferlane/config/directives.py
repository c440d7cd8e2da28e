"""Options of the scheduler that a file may not give, because what becomes of the run depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from inferlane.config.cluster import Cluster
from inferlane.config.paths import Path
from inferlane.config.recipe import Recipe
from inferlane.config.translate import Complaint

DECIDED = frozenset({"output", "error", "nodes", "ntasks", "ntasks-per-node", "no-requeue", "parsable", "comment"})
"""Directives that the run itself decides; one that a file gives has no effect, and a note says so."""

_OF_JOBS = {
    "array": "one job is one run",
    "export": "declare variables in environment, or in pass_environment of the cluster file",
    "export-file": "declare variables in environment, or in pass_environment of the cluster file",
    "het-group": "a run is one job of one kind of nodes",
    "requeue": "a run that was cut off is not started a second time",
    "test-only": "`inferlane plan --format script` shows the script",
    "wait": "`inferlane run` waits by itself",
    "wrap": "the run is what starts in the job",
}
_OF_STEPS = {
    **dict.fromkeys(("jobid", "job-name", "het-group"), "steps are told apart by it"),
    **dict.fromkeys(("nodes", "nodelist", "exclude", "relative", "ntasks", "ntasks-per-node"), "the plan places"),
    **dict.fromkeys(("output", "error", "input", "pty"), "logs are files of the run folder"),
    **dict.fromkeys(("export", "export-file"), "declare variables in environment"),
    **dict.fromkeys(("multi-prog", "test-only"), "a step runs what the plan says"),
}


def directive_faults(recipe: Recipe) -> Iterator[Complaint]:
    """Of the job, of all steps, of one role's steps."""
    yield from _job_faults(("sbatch_directives",), recipe.sbatch_directives)
    yield from _faults(("srun_options",), recipe.srun_options, _OF_STEPS)
    for role, block in recipe.roles.items():
        yield from _faults(("roles", role, "srun_options"), block.srun_options, _OF_STEPS)


def site_directive_faults(cluster: Cluster) -> Iterator[Complaint]:
    """The same for a cluster file."""
    yield from _job_faults(("default_sbatch_directives",), cluster.default_sbatch_directives)


def decided(given: Iterable[str]) -> list[str]:
    """Names of ``given`` that have no effect, in their order."""
    return [name for name in given if name in DECIDED]


def _job_faults(path: Path, given: Mapping[str, str]) -> Iterator[Complaint]:
    yield from _faults(path, {name: value for name, value in given.items() if name not in DECIDED}, _OF_JOBS)
    for name in given:
        whole = [full for full in sorted(DECIDED) if full.startswith(name)]
        if whole and name not in DECIDED and len(name) > 1:
            yield Complaint((*path, name), f"'{name}' is short for '{whole[0]}'; write the whole name", True)


def _faults(path: Path, given: Mapping[str, str], refused: Mapping[str, str]) -> Iterator[Complaint]:
    for name in given:
        meant = [full for full in refused if full.startswith(name)]  # the scheduler completes a beginning
        if len(name) == 1:
            yield Complaint((*path, name), f"'{name}' is the short form of an option; write its long name", True)
        elif meant:
            yield Complaint((*path, name), f"'{name}' cannot be set here: {refused[meant[0]]}", True)
