"""``python -m inferlane.slurm.job RUN``: in the job, on its first node; the same supervisor, its processes steps."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from inferlane.errors import InferlaneError, RunFault
from inferlane.planning import Shape, encode
from inferlane.planning.allocation import Allocation
from inferlane.planning.secrets import references
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.rehearsal import Programs, orders, rehearse
from inferlane.running.folder import directory
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import wall_time
from inferlane.running.guardian import Announce, guarded
from inferlane.running.leftovers import addresses
from inferlane.running.leftovers.sweep import Swept
from inferlane.running.local import LocalRun, refused
from inferlane.running.processes.signals import SignalFlags
from inferlane.running.processes.teardown import last_look
from inferlane.running.settings import Hooks, RunOptions
from inferlane.running.start import VIRTUAL_MEMORY, judge_of, summariser_of
from inferlane.running.terminal.report import reporter
from inferlane.slurm import frozen, steps
from inferlane.slurm.frozen import Frozen
from inferlane.slurm.ground import StepGround
from inferlane.slurm.host_setup import HostSteps, StepRunner
from inferlane.slurm.nodelist import expand
from inferlane.slurm.nodes import Nodes
from inferlane.slurm.survey import allocation
from inferlane.values import Plan


class JobRun(LocalRun):
    """A run whose processes are steps. ``given``: what the nodes said of themselves, in plan order."""

    def __init__(
        self,
        run: RunDirectory,
        held: Frozen,
        given: Allocation,
        nodes: Nodes,
        ground: StepGround,
        hooks: Hooks,
        options: RunOptions,
        flags: SignalFlags,
    ) -> None:
        super().__init__(held.plan, options, hooks, held.settings.rehearsal, reporter(False, live=False), flags)
        self._run = run
        self._held = held
        self._given = given
        self._nodes = nodes
        self._ground = ground
        self._scratch = f"/dev/shm/il-{run.id[-24:]}"  # noqa: S108 - private, made 0700 on each node

    def run(self) -> int:
        """In the folder that was made at submission."""
        scratch = addresses.make_scratch()
        try:
            directory.record_owner(
                self._run, self._options.guardian or os.getpid(), scratch, self._plan.name, wall_time()
            )
            if self._options.announce is not None:
                self._options.announce(self._run.path)
            known = {f"n{index}": node.address for index, node in enumerate(self._given.nodes)}
            return self.inside(self._run, scratch, known)
        finally:
            addresses.remove_dirs(scratch)

    def table(self, known: Mapping[str, str], scratch: Path, of_run: Mapping[str, str]) -> Mapping[str, str]:
        """Addresses and devices of the allocation, folders of the run."""
        table = {f"run.{name}": value for name, value in of_run.items()}
        table |= {"run.python": self._held.settings.python, **self._given.known(self._plan.gpus_per_node)}
        return table | {f"{node}.shm": f"{self._scratch}/{node}" for node in known}

    def taken(self, bound: Plan, known: Mapping[str, str]) -> tuple[dict[str, tuple[int, ...]], list[str]]:
        """By what each node said; the endpoint's own port cannot move."""
        in_use = {f"n{index}": node.in_use for index, node in enumerate(self._given.nodes)}
        names = {f"n{index}": node.name for index, node in enumerate(self._given.nodes)}
        clashes = [
            f"{process.name} wants port {port} ({name}) on {names[process.slots[0].node.name]}, which is taken"
            for process in bound.processes
            if process.slots
            for name, block in process.ports.items()
            if block.held
            for port in in_use.get(process.slots[0].node.name, ())
            if block.first <= port < block.first + block.width
        ]
        return in_use, clashes

    def look_around(self, bound: Plan, prepared: Mapping[str, Mapping[str, str]], scratch: Path) -> None:
        """Private folders on every node; what programs need there, their steps will tell."""
        folders = sorted({folder for process in bound.processes for folder in process.dirs.values()})
        outside = [folder for folder in folders if not folder.startswith(f"{self._scratch}/")]
        if outside:
            raise RunFault(f"the folder {outside[0]} is outside of {self._scratch}")
        self._nodes.ask("prepare", self._scratch, *(f"{self._scratch}/{node.name}" for node in bound.nodes), *folders)

    def ground(self) -> StepGround:
        """Steps of this job."""
        return self._ground

    def hosts(self) -> Mapping[str, str]:
        """The scheduler's names of the nodes."""
        return {f"n{index}": node.name for index, node in enumerate(self._given.nodes)}

    def own_addresses(self, known: Mapping[str, str]) -> Collection[str]:
        """None: nodes are shared with others."""
        return ()

    def last_look(self, run_id: str) -> Swept:
        """Here, and then on every node."""
        here = last_look(run_id)
        try:
            answers = self._nodes.ask("sweep", self._scratch, run_id)
        except RunFault as fault:
            return Swept(here.killed, (*here.left, f"not known: {fault}"), here.memory)
        killed = [f"{node}: {what}" for node, said in answers.items() for what in said.get("killed") or ()]
        left = [f"{node}: {what}" for node, said in answers.items() for what in said.get("left") or ()]
        return Swept((*here.killed, *killed), (*here.left, *left), here.memory)


def _hooks(held: Frozen, prepared: Prepared) -> Hooks:
    settings = held.settings

    def planned(shape: Shape) -> Plan:
        made = prepared.plan(shape)
        return made if settings.rehearsed is None else rehearse(made, settings.rehearsed, Programs()).plan

    def replan(in_use: Mapping[str, tuple[int, ...]]) -> Plan:
        shape = Shape(memory_bytes=VIRTUAL_MEMORY if settings.rehearsed else None)
        if frozen.digest(encode(planned(shape))) != settings.digest:
            raise RunFault(
                "a port of the plan is taken, and what is installed here plans otherwise than at submission; install "
                f"the same versions: {', '.join(f'{name} {version}' for name, version in held.plan.versions.items())}"
            )
        return planned(msgspec.structs.replace(shape, in_use=in_use))

    rehearsed = settings.rehearsed
    return Hooks(
        replan=replan,
        orders=(lambda bound: orders(bound, rehearsed, prepared.hidden)) if rehearsed is not None else None,
        summarise=summariser_of(prepared),
        judge=judge_of(prepared),
    )


def work(folder: Path, announce: Callable[[Path], None], environ: Mapping[str, str]) -> int:
    """Run what is frozen in ``folder`` to its end; raises ``InferlaneError`` for what stands against starting."""
    held = frozen.read(folder)
    settings, own = held.settings, steps.own_environment(environ)
    print(f"frozen plan {settings.digest}", flush=True)
    names = expand(environ.get("SLURM_JOB_NODELIST", ""), own)[: len(held.plan.nodes)]
    if len(names) < len(held.plan.nodes):
        raise RunFault(f"{settings.name} needs {len(held.plan.nodes)} nodes, the job has {len(names)}")
    symbols = {node.name: name for node, name in zip(held.plan.nodes, names, strict=True)}
    mounts = (f"{folder}:{folder}", f"{folder}/logs:/logs", *settings.steps.mounts)
    how = msgspec.structs.replace(settings.steps, mounts=mounts)
    job = steps.Job(steps.job_number(environ), symbols, steps.cpus_on_nodes(environ), how)
    flags = SignalFlags()
    flags.install()
    host = _host_steps(folder, held, job, symbols, environ, flags)
    try:
        for line in host.setup():
            print(line, flush=True)
        if flags.received:
            raise RunFault(f"stopped by {flags.received[0].name} before anything was started")
        return _on_nodes(folder, held, job, tuple(names), announce, environ, flags)
    finally:
        for line in host.teardown():
            print(line, flush=True)


def _host_steps(
    folder: Path,
    held: Frozen,
    job: steps.Job,
    symbols: Mapping[str, str],
    environ: Mapping[str, str],
    flags: SignalFlags,
) -> HostSteps:
    """With the variables that the commands refer to: values never stand in an argument."""
    own, wanted = steps.own_environment(environ), held.settings.host
    named = references([*wanted.commands, *wanted.teardown])
    own = {**own, **{name: environ[name] for name in named if name in environ}}
    begin = job.over("host-setup", wanted.nodes, own) if wanted.nodes else ()
    log = folder / "logs" / "host-setup.log"
    hosts = [symbols[node] for node in wanted.nodes]
    return HostSteps(wanted, hosts, begin, StepRunner(own, log), lambda: bool(flags.received))


def _on_nodes(
    folder: Path,
    held: Frozen,
    job: steps.Job,
    names: tuple[str, ...],
    announce: Callable[[Path], None],
    environ: Mapping[str, str],
    flags: SignalFlags,
) -> int:
    settings, own = held.settings, steps.own_environment(environ)
    nodes = Nodes(job.over_all(), names, settings.python, own)
    answers = nodes.ask("report", names[1] if len(names) > 1 else names[0])
    given = allocation([answers[name] for name in names], settings.interface)
    prepared = prepare(Request(str(held.recipe), str(held.cluster)), Plugins())
    options = RunOptions(
        outputs=folder.parent,
        environ=environ,
        grace_s=settings.grace_s,
        patience_s=settings.patience_s,
        live=False,
        serve=settings.serve,
        pass_environment=settings.pass_environment,
        tokens={"run.model": settings.model},
        guardian=os.getppid(),
        announce=announce,
    )
    ground, run = StepGround(job, own), RunDirectory(folder)
    return JobRun(run, held, given, nodes, ground, _hooks(held, prepared), options, flags).run()


def main(folder: Path) -> int:
    """Under a guardian; a fault is one line, and the verdict of the run."""
    started = wall_time()

    def supervised(announce: Announce) -> int:
        try:
            return work(folder, announce, os.environ)
        except InferlaneError as fault:
            sys.stderr.write(f"error: {fault}\n")
            run = RunDirectory(folder)
            if not run.verdict.exists():
                refused(run, frozen.read(folder).plan, started, fault)
            return fault.exit_code

    return guarded(supervised)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
