"""A plan, run on this machine: addresses, files and folders, then the supervisor, then the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from inferlane.errors import EXIT_FAILED, InferlaneError, RunFault
from inferlane.planning.bind import bind, encode
from inferlane.planning.secrets import PREFIX as SECRET_PREFIX
from inferlane.running import preflight
from inferlane.running.folder import directory
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import EventLog, wall_time
from inferlane.running.folder.secrets import Redactor
from inferlane.running.folder.space import release, reserve, unwritten
from inferlane.running.folder.upkeep import Upkeep
from inferlane.running.ground import Ground, ThisMachine
from inferlane.running.leftovers import addresses
from inferlane.running.leftovers.housekeeping import Housekeeping, signals_again
from inferlane.running.leftovers.sweep import Swept, said_of_dead_runs, sweep_dead_runs
from inferlane.running.outcome import EXIT_CODES, Cause, Ended, Outcome
from inferlane.running.processes.environment import environments, proxies_asked_for, revealed
from inferlane.running.processes.limits import check_file_limit, lift_file_limit, refuse_shortage
from inferlane.running.processes.signals import SignalFlags
from inferlane.running.processes.spawn import Child
from inferlane.running.processes.teardown import last_look
from inferlane.running.settings import Ending, Hooks, RunOptions, Settings
from inferlane.running.supervisor import Supervisor
from inferlane.running.terminal.report import Reporter, counted, reporter
from inferlane.values import Plan


def run_plan(
    plan: Plan, options: RunOptions, hooks: Hooks | None = None, rehearsal: Mapping[str, Any] | None = None
) -> int:
    """Run an unbound plan to its end and return the exit code. ``run.json`` is written last.

    Raises ``InferlaneError`` for what stands against starting (a taken public port, a missing program or variable);
    then nothing was started, and ``run.json`` says so.
    """
    flags = SignalFlags()
    flags.install()
    show = reporter(options.as_json, options.live)
    try:
        for line in said_of_dead_runs(sweep_dead_runs()):
            show.line(line)
        for name in proxies_asked_for(options.pass_environment):
            show.line(f"note: {name} of pass_environment is never passed on; set it in the recipe's environment")
        return LocalRun(plan, options, hooks or Hooks(), rehearsal, show, flags).run()
    except OSError as error:
        refuse_shortage(error)
        raise
    finally:
        show.close()


class LocalRun:
    """One run on this machine: what is made for it is removed by it.

    What depends on the place is in methods of its own, which a run in another place replaces: ``run``, ``table``,
    ``taken``, ``look_around``, ``ground``, ``hosts``, ``own_addresses``, ``last_look``.
    """

    def __init__(
        self,
        plan: Plan,
        options: RunOptions,
        hooks: Hooks,
        rehearsal: Mapping[str, Any] | None,
        show: Reporter,
        flags: SignalFlags,
    ) -> None:
        self._plan = _without_benchmark(plan) if options.serve else plan
        self._options = options
        self._hooks = hooks
        self._rehearsal = rehearsal
        self._show = show
        self._flags = flags
        self._started = wall_time()
        self._files = lift_file_limit()

    def run(self) -> int:
        slots = addresses.claim(len(self._plan.nodes))
        scratch = addresses.make_scratch()
        try:
            run = directory.create(self._options.outputs, self._plan.name)
            guardian = self._options.guardian or os.getpid()
            try:
                directory.record_owner(run, guardian, scratch, self._plan.name, self._started)
            except OSError as error:
                raise RunFault(unwritten(run.path, error)) from error
            if self._options.announce is not None:
                self._options.announce(run.path)
            return self.inside(run, scratch, addresses.node_addresses(self._plan, slots))
        finally:
            slots.release()  # before what needs file descriptors
            addresses.remove_dirs(scratch)

    def inside(self, run: RunDirectory, scratch: Path, known: Mapping[str, str]) -> int:
        """From the addresses of the nodes to the verdict."""
        try:
            check_file_limit()
            bound = self._bound(run, scratch, known)
            prepared = environments(bound, self._options.environ, self._options.pass_environment, run.id, run.path)
            self.look_around(bound, prepared, scratch)
            hidden = {name: word for name, word in self._options.environ.items() if name.startswith(SECRET_PREFIX)}
            redactor = Redactor([hidden, *prepared.values(), *(process.env for process in bound.processes)])
            self._show.redactor = redactor
            self._write(run, bound, redactor)
            bound = revealed(bound, hidden)
            directory.write_files(run, bound)
            reserve(run)
        except InferlaneError as fault:
            self._refused(run, fault)
            raise
        except OSError as error:
            self._refused(run, full := RunFault(unwritten(run.path, error)))
            raise full from error
        self._show.line(
            f"run {run.id}: {counted(len(bound.processes), 'process', 'processes')} on "
            f"{counted(len(bound.nodes), 'node', 'nodes')}; folder {run.path}"
        )
        with EventLog(run.events, redactor) as events:
            events.write("run.start", id=run.id, processes=len(bound.processes), endpoint=bound.endpoint)
            upkeep = Upkeep(bound, run, redactor.values, self._show.line)
            supervisor = self._supervisor(bound, run, prepared, known, events, upkeep.tick)
            house = Housekeeping(scratch, self.own_addresses(known))
            ending = asyncio.run(house.attend(supervisor.supervise()))
            self._flags.install()  # the loop is gone, and with it its handlers; the verdict is still to come
            signals_again()
            swept = house.settle(self.last_look(run.id))
            ending = replace(ending, warnings=(*ending.warnings, *house.warnings(), *upkeep.finish()))
            ending = upkeep.judged(ending, events.lost)
            release(run)
            addresses.remove_dirs(scratch)
            outcome = self._outcome(bound, run, ending, supervisor.children.all(), swept)
            events.write("run.end", verdict=outcome.verdict, exit_code=outcome.exit_code, clean=outcome.clean)
        try:
            run.write("run.json", redactor.content(_document(outcome)))
        except OSError as error:  # a verdict that nobody can read later is none
            cause = outcome.cause or Cause(kind="internal", message=unwritten(run.path, error))
            outcome = msgspec.structs.replace(outcome, verdict="failed", exit_code=EXIT_FAILED, cause=cause)
        return self._show.final(outcome, str(run.path))

    def _bound(self, run: RunDirectory, scratch: Path, known: Mapping[str, str]) -> Plan:
        folders = {"logs": run.logs, "files": run.files, "results": run.results, "dir": run.path}
        of_run = {name: str(folder) for name, folder in folders.items()} | {"id": run.id, "python": sys.executable}
        table = {**self.table(known, scratch, of_run), **self._options.tokens}
        bound = bind(self._plan, table)
        in_use, clashes = self.taken(bound, known)
        if clashes and self._hooks.replan is not None:
            self._show.line(f"planning again: {clashes[0]}")
            plan = self._hooks.replan(in_use)
            bound = bind(_without_benchmark(plan) if self._options.serve else plan, table)
            _, clashes = self.taken(bound, known)
        if clashes:
            raise RunFault("\n".join(clashes))
        preflight.check_bound(bound)
        preflight.check_patterns(bound)
        return bound

    def table(self, known: Mapping[str, str], scratch: Path, of_run: Mapping[str, str]) -> Mapping[str, str]:
        """The value of each token of the plan."""
        words = self._options.devices or tuple(str(position) for position in range(self._plan.gpus_per_node))
        return addresses.known_tokens(known, words, scratch, of_run)

    def taken(self, bound: Plan, known: Mapping[str, str]) -> tuple[dict[str, tuple[int, ...]], list[str]]:
        """Ports in use per node, and a line for each block of the plan that wants one of them."""
        found = addresses.listeners()
        preflight.check_public_port(bound, found)
        return preflight.taken_ports(bound, known, found)

    def look_around(self, bound: Plan, prepared: Mapping[str, Mapping[str, str]], scratch: Path) -> None:
        """Check what processes need of their nodes, and make their folders there."""
        preflight.check_needs(bound, prepared)
        addresses.make_dirs(bound, scratch)

    def ground(self) -> Ground:
        """Where processes run."""
        return ThisMachine(self._files)

    def hosts(self) -> Mapping[str, str]:
        """Node of the plan to the machine's own name; here all nodes are one machine."""
        return {}

    def own_addresses(self, known: Mapping[str, str]) -> Collection[str]:
        """Addresses of this machine that belong to nobody but this run."""
        return known.values()

    def last_look(self, run_id: str) -> Swept:
        """End what is left of the run."""
        return last_look(run_id)

    def _write(self, run: RunDirectory, bound: Plan, redactor: Redactor) -> None:
        directory.write_orders(run, self._hooks.orders(bound) if self._hooks.orders else {})
        run.write("plan.json", redactor.content(msgspec.json.format(encode(bound), indent=1)) + b"\n")
        for name, content in self._options.documents.items():
            run.write(name, redactor.content(content))

    def _supervisor(
        self,
        bound: Plan,
        run: RunDirectory,
        prepared: Mapping[str, Mapping[str, str]],
        known: Mapping[str, str],
        events: EventLog,
        upkeep: Callable[[], None],
    ) -> Supervisor:
        settings = Settings(
            grace_s=self._options.grace_s,
            patience_s=self._options.patience_s,
            guardian=self._options.guardian,
            ground=self.ground(),
            hosts=self.hosts(),
            summarise=self._hooks.summarise,
            judge=self._hooks.judge,
            upkeep=upkeep,
        )
        return Supervisor(bound, run, prepared, known, events, self._show, self._flags, settings)

    def _outcome(
        self, bound: Plan, run: RunDirectory, ending: Ending, children: tuple[Child, ...], swept: Swept
    ) -> Outcome:
        return Outcome(
            id=run.id,
            name=bound.name,
            verdict=ending.verdict,
            exit_code=EXIT_CODES[ending.verdict],
            started=self._started,
            ended=wall_time(),
            clean=not swept.left,
            cause=ending.cause,
            followers=ending.followers,
            processes=tuple(_ended(child) for child in children),
            swept=swept.killed,
            left=swept.left,
            memory=swept.memory,
            timings=ending.timings,
            summary=ending.summary,
            served=ending.served,
            endpoint=bound.endpoint,
            versions=bound.versions,
            warnings=(*(problem.message for problem in bound.warnings), *ending.warnings),
            rehearsal=self._rehearsal,
        )

    def _refused(self, run: RunDirectory, fault: InferlaneError) -> None:
        refused(run, self._plan, self._started, fault)


def refused(run: RunDirectory, plan: Plan, started: str, fault: InferlaneError) -> None:
    """The verdict of a run of which nothing was started."""
    outcome = Outcome(
        id=run.id,
        name=plan.name,
        verdict="failed",
        exit_code=fault.exit_code,
        started=started,
        ended=wall_time(),
        clean=True,
        cause=Cause(kind="start", message=str(fault)),
        versions=plan.versions,
    )
    release(run)
    with contextlib.suppress(OSError):  # the fault itself is told in any case
        run.write("run.json", _document(outcome))


def _document(outcome: Outcome) -> bytes:
    return msgspec.json.format(msgspec.json.encode(outcome), indent=2) + b"\n"


def _ended(child: Child) -> Ended:
    seconds = round((child.ended or child.started) - child.started, 3)
    if child.code is None:
        return Ended(process=child.name, state="running")
    state = "killed" if child.killed else "stopped" if child.asked else "ended"
    number = {"signal": -child.code} if child.code < 0 else {"exit_code": child.code}
    return Ended(process=child.name, state=state, seconds=seconds, **number)


def _without_benchmark(plan: Plan) -> Plan:
    kept = tuple(process for process in plan.processes if process.kind != "benchmark")
    return msgspec.structs.replace(plan, processes=kept, benchmark=None)
