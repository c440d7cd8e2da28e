"""Typed owners: the only way in which the core calls a plugin. One method per hook, named after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from inferlane.plugins.boundary import Caller, one_line
from inferlane.plugins.discovery import Candidate
from inferlane.plugins.kinds import Kind
from inferlane.values import (
    AcceleratorSpec,
    BenchmarkSpec,
    Command,
    Devices,
    EngineLayout,
    EngineSpec,
    Export,
    Exporter,
    Finding,
    Fleet,
    Gate,
    Group,
    LauncherSpec,
    Part,
    Plan,
    PluginCheck,
    ProbeCommand,
    Problem,
    Process,
    Reply,
    RouterLayout,
    RouterSpec,
    Run,
    ServiceLayout,
    ServiceSpec,
    Spec,
    Summary,
    Verdict,
)
from inferlane.values.configs import (
    AcceleratorConfig,
    BenchmarkConfig,
    EngineConfig,
    LauncherConfig,
    RouterConfig,
    ServiceConfig,
)


class Owner:
    """One loaded type. Every hook method raises :class:`PluginFault` when the plugin raises or answers badly."""

    spec: Spec

    def __init__(self, candidate: Candidate, spec: Spec, caller: Caller) -> None:
        self.kind: Kind = candidate.kind
        self.type = candidate.type
        self.distribution = candidate.distribution
        self.version = candidate.version
        self.target = candidate.target
        self.builtin = candidate.builtin
        self.spec = spec
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{self.kind} {self.type} of {self.distribution} {self.version}>"

    def parse(self, block: Mapping[str, Any]) -> Any:
        """The block as the model that the plugin declares; raises pydantic's ``ValidationError``."""
        try:
            return self.spec.config.model_validate({"type": self.type, **block})
        except ValidationError:
            raise
        except Exception as fault:
            name = self.spec.config.__name__
            raise self._caller.fault(f"its model {name} raised {one_line(fault)}") from fault

    def validate(self, plan: Plan) -> tuple[Problem, ...]:
        """Faults of a finished plan that this plugin knows of."""
        problems: tuple[Problem, ...] | None = self._caller.ask("inferlane_validate", plan=plan)
        return problems or ()

    def doctor(self) -> tuple[Finding, ...]:
        """What this plugin finds on this machine."""
        findings: tuple[Finding, ...] | None = self._caller.ask("inferlane_doctor")
        return findings or ()

    def implemented(self) -> tuple[str, ...]:
        """The hooks that the module of this type implements."""
        return self._caller.implemented()

    def _required(self, hook: str, subject: str, **arguments: Any) -> Any:
        """An answer without which nothing works."""
        answer = self._caller.ask(hook, **arguments)
        if answer is None:
            raise self._caller.fault(f"hook {hook} answered nothing for {subject}")
        return answer


class Engine(Owner):
    """An engine type."""

    spec: EngineSpec

    def layout(self, config: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
        """The shape of one role's workers; ``None`` = this configuration does not speak ``group.protocol``."""
        layout: EngineLayout | None
        layout = self._caller.ask("inferlane_engine_layout", engine=config, group=group, fleet=fleet)
        return layout

    def command(self, config: EngineConfig, process: Process, run: Run) -> Command:
        """The command of one worker process."""
        command: Command
        command = self._required("inferlane_engine_command", process.name, engine=config, process=process, run=run)
        return command

    def gates(self, config: EngineConfig, process: Process, run: Run) -> tuple[Gate, ...]:
        """Gates beyond the worker's own health."""
        gates: tuple[Gate, ...] | None
        gates = self._caller.ask("inferlane_engine_gates", engine=config, process=process, run=run)
        return gates or ()


class Router(Owner):
    """A router type."""

    spec: RouterSpec

    def layout(self, config: RouterConfig, fleet: Fleet) -> RouterLayout:
        """The router's shape for ``fleet.protocol``."""
        layout: RouterLayout
        layout = self._required("inferlane_router_layout", "this recipe", router=config, fleet=fleet)
        return layout

    def command(self, config: RouterConfig, process: Process, run: Run) -> Command:
        """The command of one router process."""
        command: Command
        command = self._required("inferlane_router_command", process.name, router=config, process=process, run=run)
        return command

    def gates(self, config: RouterConfig, run: Run) -> tuple[Gate, ...]:
        """What proves that the router knows every worker; empty = only the real completion."""
        gates: tuple[Gate, ...] | None = self._caller.ask("inferlane_router_gates", router=config, run=run)
        return gates or ()

    def verdict(self, config: RouterConfig, check: PluginCheck, reply: Reply) -> Verdict:
        """The plugin's judgement of its own check."""
        verdict: Verdict
        verdict = self._required("inferlane_router_verdict", check.name, router=config, check=check, reply=reply)
        return verdict


class Service(Owner):
    """A service type."""

    spec: ServiceSpec

    def layout(self, config: ServiceConfig, fleet: Fleet) -> ServiceLayout:
        """Where instances run; by default one process on the head."""
        layout: ServiceLayout | None
        layout = self._caller.ask("inferlane_service_layout", service=config, fleet=fleet)
        return layout or ServiceLayout(parts=(Part(per="run", on="head"),))

    def command(self, config: ServiceConfig, process: Process, run: Run) -> Command:
        """The command of one instance."""
        command: Command
        command = self._required("inferlane_service_command", process.name, service=config, process=process, run=run)
        return command

    def gates(self, config: ServiceConfig, process: Process, run: Run) -> tuple[Gate, ...]:
        """When this instance is ready."""
        gates: tuple[Gate, ...] | None
        gates = self._caller.ask("inferlane_service_gates", service=config, process=process, run=run)
        return gates or ()

    def exports(self, config: ServiceConfig, process: Process, run: Run) -> Export:
        """What ``process``, the receiver, is told of this service."""
        export: Export | None
        export = self._caller.ask("inferlane_service_exports", service=config, process=process, run=run)
        return export or Export()


class Accelerator(Owner):
    """A GPU family."""

    spec: AcceleratorSpec

    def visible_devices(self, config: AcceleratorConfig, devices: Devices) -> Mapping[str, str | None]:
        """The device mask; empty = none is needed."""
        mask: Mapping[str, str | None] | None
        mask = self._caller.ask("inferlane_visible_devices", accelerator=config, devices=devices)
        return mask or {}

    def gpu_exporter(self, config: AcceleratorConfig) -> Exporter | None:
        """The default GPU metrics exporter; ``None`` = there is none."""
        exporter: Exporter | None = self._caller.ask("inferlane_gpu_exporter", accelerator=config)
        return exporter

    def fingerprint(self, config: AcceleratorConfig) -> tuple[ProbeCommand, ...]:
        """Commands that describe the machine; the core runs them."""
        commands: tuple[ProbeCommand, ...] | None = self._caller.ask("inferlane_fingerprint", accelerator=config)
        return commands or ()

    def fingerprint_read(self, config: AcceleratorConfig, outputs: Mapping[str, str]) -> Mapping[str, str]:
        """Named facts from the outputs of :meth:`fingerprint`."""
        facts: Mapping[str, str] | None
        facts = self._caller.ask("inferlane_fingerprint_read", accelerator=config, outputs=outputs)
        return facts or {}


class Benchmark(Owner):
    """A benchmark type."""

    spec: BenchmarkSpec

    def command(self, config: BenchmarkConfig, process: Process, run: Run) -> Command | None:
        """The client's command; ``None`` = no client: serve until stopped."""
        command: Command | None
        command = self._caller.ask("inferlane_benchmark_command", benchmark=config, process=process, run=run)
        return command

    def summary(self, config: BenchmarkConfig, outputs: Mapping[str, str]) -> Summary | None:
        """The verdict over what the client wrote; ``None`` = its exit status decides."""
        summary: Summary | None
        summary = self._caller.ask("inferlane_benchmark_summary", benchmark=config, outputs=outputs)
        return summary


class Launcher(Owner):
    """A launcher type."""

    spec: LauncherSpec

    def launcher(self, config: LauncherConfig) -> Any:
        """The object that acts, see :mod:`inferlane.running`."""
        return self._required("inferlane_launcher", "this launcher", launcher=config)


OWNERS: Mapping[Kind, type[Owner]] = {
    "engine": Engine,
    "router": Router,
    "service": Service,
    "accelerator": Accelerator,
    "benchmark": Benchmark,
    "launcher": Launcher,
}


def make_owner(candidate: Candidate, spec: Spec, caller: Caller) -> Owner:
    """The facade of the candidate's kind."""
    return OWNERS[candidate.kind](candidate, spec, caller)


def in_type_order(owners: Sequence[Owner]) -> list[Owner]:
    """One owner per module, in type order: for hooks that every loaded plugin may answer."""
    chosen: dict[str, Owner] = {}
    for owner in sorted(owners, key=lambda owner: (owner.type, owner.kind)):
        chosen.setdefault(owner.target, owner)
    return list(chosen.values())
