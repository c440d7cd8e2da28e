"""Steps: the ``srun`` line of each process, and how a step is ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence

from inferlane.errors import RunFault
from inferlane.slurm.calls import KEPT
from inferlane.slurm.frozen import Options, StepSettings
from inferlane.values import PlannedProcess

_CALL_S = 20.0


class Job:
    """The job that steps run in. ``nodes``: symbol of the plan to the scheduler's name. ``cpus``: of a node."""

    def __init__(self, number: str, nodes: Mapping[str, str], cpus: int | None, settings: StepSettings) -> None:
        self.number = number
        self._nodes = nodes
        self._cpus = cpus
        self._settings = settings

    def over_all(self) -> tuple[str, ...]:
        """The beginning of a step with one task on each node, outside of containers and without devices."""
        return (*self._begin("inferlane-nodes", tuple(self._nodes.values())), *self._none(), "--export=PATH,HOME")

    def over(self, name: str, symbols: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
        """The beginning of a step with one task on each of these nodes, with their devices. ``names``: of variables."""
        begin = self._begin(name, tuple(self._nodes[symbol] for symbol in symbols))
        return (*begin, *self._settings.gpus, f"--export={','.join(sorted(names)) or 'NONE'}")

    def argv(self, process: PlannedProcess, env: Mapping[str, str]) -> tuple[str, ...]:
        """The whole command line, without the values of ``env``: they travel by name, in ``srun``'s own environment."""
        hosts = tuple(dict.fromkeys(self._nodes[slot.node.name] for slot in process.slots))
        names = ",".join(sorted(env))
        devices = self._settings.gpus if any(slot.gpus for slot in process.slots) else self._none()
        return (
            *self._begin(process.name, hosts, len(process.slots)),
            *devices,
            *_mpi(process),
            f"--export={names}",
            *self._container(process),
            *options(self._options(process)),
            *self._program(process),
        )

    def _none(self) -> tuple[str, ...]:
        """No devices; only where the job asked for some, as other sites do not know the word."""
        return ("--gres=none",) if self._settings.gpus else ()

    def _begin(self, name: str, hosts: Sequence[str], tasks: int | None = None) -> tuple[str, ...]:
        cpus = (f"--cpus-per-task={self._cpus}",) if self._cpus else ()
        return (
            "srun",
            f"--jobid={self.number}",
            f"--job-name={name}",
            "--overlap",
            "--kill-on-bad-exit=1",
            "--cpu-bind=none",
            f"--nodes={len(hosts)}",
            f"--ntasks={tasks or len(hosts)}",
            f"--nodelist={','.join(hosts)}",
            *cpus,
        )

    def _container(self, process: PlannedProcess) -> tuple[str, ...]:
        if process.image is None or process.on_host or not self._settings.containers:
            return ()
        mounts = (f"--container-mounts={','.join(self._settings.mounts)}",) if self._settings.mounts else ()
        return (
            f"--container-image={process.image}",
            "--no-container-entrypoint",
            "--no-container-mount-home",
            *mounts,
        )

    def _options(self, process: PlannedProcess) -> Options:
        if process.kind not in ("worker", "router"):
            return {}
        return {**self._settings.options, **self._settings.role_options.get(process.role or "", {})}

    def _program(self, process: PlannedProcess) -> tuple[str, ...]:
        """``env`` as the first word holds against what the scheduler itself sets for the step."""
        mask = tuple(f"{name}={value}" for name, value in sorted(process.mask.items()))
        away = tuple(word for name in process.unset if name not in process.mask for word in ("-u", name))
        inside = process.image is not None and not process.on_host and self._settings.containers
        shell: tuple[str, ...] = ()
        if self._settings.preamble and inside:
            shell = ("bash", "-c", f'{self._settings.preamble}\nexec "$@"', "inferlane")
        return ("/usr/bin/env", *away, *mask, *shell, *process.argv)


def _mpi(process: PlannedProcess) -> tuple[str, ...]:
    if process.mpi is None:
        return ()
    over = ("--oversubscribe",) if process.mpi.oversubscribe else ()
    return (f"--mpi={process.mpi.kind}", *over)


def options(wanted: Options) -> Iterable[str]:
    """``--name=value``, or ``--name`` where there is no value."""
    for name, value in wanted.items():
        yield f"--{name}" if value in (None, "") else f"--{name}={value}"


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What the scheduler's commands get from us: nothing of the outer job but where the scheduler is."""
    kept = {name: environ[name] for name in (*KEPT, "PATH", "HOME", "USER", "LANG") if name in environ}
    return {"PATH": "/usr/bin:/bin:/usr/local/bin", **kept}


def step_numbers(job: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Name of a step to its id, of those that run. Empty if the scheduler does not answer in time."""
    argv = ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(argv, env=dict(environ), capture_output=True, text=True, timeout=_CALL_S, check=True)
        rows = [line.split(None, 1) for line in done.stdout.splitlines()]
        return {row[1].strip(): row[0] for row in rows if len(row) == 2}
    return {}


def signal_steps(numbers: Sequence[str], number: signal.Signals, environ: Mapping[str, str]) -> None:
    """Signal the programs of steps themselves; their ``srun`` would not pass it on.

    As root one version of the scheduler delivers it and still calls it failed, so the exit status says nothing.
    """
    if not numbers:
        return
    argv = ["scancel", f"--signal={number.name.removeprefix('SIG')}", *numbers]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(argv, env=dict(environ), capture_output=True, timeout=_CALL_S, check=False)


def cpus_on_nodes(environ: Mapping[str, str]) -> int | None:
    """The smallest number of processors that the job has on one of its nodes (``128(x4),72``)."""
    words = environ.get("SLURM_JOB_CPUS_PER_NODE", "").replace(" ", "")
    counts = [word.partition("(")[0] for word in words.split(",") if word]
    return min((int(count) for count in counts if count.isdigit()), default=None)


def job_number(environ: Mapping[str, str]) -> str:
    """The job this process runs in. Raises ``RunFault``."""
    number = environ.get("SLURM_JOB_ID", "")
    if not number.isdigit():
        raise RunFault("this is not inside of a job (SLURM_JOB_ID is not set); use `inferlane run`")
    return number
