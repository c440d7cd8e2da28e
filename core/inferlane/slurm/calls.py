"""Calling the scheduler's own commands: bounded in time, in a clean environment, and read for what they really say."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferlane.errors import RunFault

KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SBATCH_CLUSTERS", "SLURM_JWT"})
"""Variables of the scheduler that say which cluster is meant and who asks; every other one acts as an option."""

_JOB = re.compile(r"(?:SLURM|SBATCH|SRUN|SALLOC)_|PMIX?\d?_")
_QUERY = re.compile(r"(?:SQUEUE|SACCT|SCANCEL|SCONTROL|SINFO)_")
_SILENT = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Connection (?:refused|timed out|reset)"
    r"|Communication connection failure|Transport endpoint is not connected|Zero Bytes were transmitted"
    r"|Resource temporarily unavailable|temporarily unable|standby mode|Unable to connect to database"
    r"|Problem talking to the database|Unable to establish controller machine|No route to host",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """What a command said. ``code``: its exit status, ``None`` when it was ended because it took too long."""

    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def silent(self) -> bool:
        """Whether the scheduler could not be asked just now; asking again may help."""
        return self.code is None or (self.code != 0 and _SILENT.search(self.err + self.out) is not None)

    @property
    def words(self) -> str:
        """The command's own words on one line."""
        lines = [re.sub(r"^\S+: (?:error|fatal): ", "", line.strip()) for line in self.err.splitlines()]
        kept = [line for line in dict.fromkeys(lines) if line and not line.startswith("Try ")]
        late = ["it did not answer in time"] if self.code is None else []
        return "; ".join(kept + late) or f"exit status {self.code}"


def removed_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of an outer job that would act on a new one."""
    return tuple(sorted(name for name in environ if _JOB.match(name) and name not in KEPT))


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` without everything that a command of the scheduler would read as an option."""
    odd = {name for name in environ if _QUERY.match(name)} | set(removed_names(environ))
    return {name: value for name, value in environ.items() if name not in odd}


def call(argv: Sequence[str], environ: Mapping[str, str], seconds: float) -> Answer:
    """Run one command, in a session of its own so that Ctrl-C does not cut it short. ``environ``: a clean one.

    Raises ``RunFault`` where the program is missing.
    """
    try:
        process = subprocess.Popen(
            argv,
            env={**environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise RunFault(
            f"{argv[0]}: {error.strerror}; the launcher slurm needs the scheduler's commands on PATH: use a login node,"
            " or --launcher local"
        ) from error
    code: int | None
    try:
        out, err = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        out, err = _ended(process)
        code = None
    except BaseException:
        _ended(process)
        raise
    return Answer(code, out.decode(errors="replace"), err.decode(errors="replace"))


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End it with what it started; it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=2)
    except subprocess.TimeoutExpired:  # somebody else holds its pipes
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        return b"", b""
