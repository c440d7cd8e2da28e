"""The plugins of one command: who is installed, who is switched off, who was loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from inferlane.errors import PluginFault, UsageFault
from inferlane.plugins.discovery import Scan, discover
from inferlane.plugins.first_party import Table, first_party, first_party_table, first_party_types
from inferlane.plugins.kinds import Kind
from inferlane.plugins.states import Entry, judge
from inferlane.plugins.switches import EVERYTHING, Switch, normalise, read_switches

if TYPE_CHECKING:  # loaded on first need: it costs pydantic
    import pluggy

    from inferlane.plugins.facade import Accelerator, Benchmark, Engine, Launcher, Owner, Router, Service
    from inferlane.values import Plan, Problem

_T = TypeVar("_T", bound="Owner")


class MissingPlugin(PluginFault):
    """A type of this project's own plugins, whose distribution is not installed; ``install`` is the pip command."""

    def __init__(self, message: str, install: str) -> None:
        super().__init__(f"{message}: {install}")
        self.install = install


class Plugins:
    """Loads a type when it is asked for. Metadata is read once, on first need; each module is imported once.

    Every lookup raises :class:`PluginFault` (missing, broken, refused, switched off, claimed twice) or, for a type that
    nobody provides, :class:`UsageFault`; both are one line.
    """

    def __init__(self, disable: Collection[str] = (), no_plugins: bool = False) -> None:
        self._switches = read_switches(disable, no_plugins)
        self._scan: Scan | None = None
        self._entries: tuple[Entry, ...] = ()
        self._managers: dict[str, pluggy.PluginManager] = {}
        self._owners: dict[tuple[Kind, str], Owner] = {}

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], disable: Collection[str] = (), no_plugins: bool = False
    ) -> Plugins:
        """With what ``INFERLANE_DISABLE_PLUGINS`` (types or distributions, comma separated; ``*``) adds."""
        plugins = cls()
        plugins._switches = read_switches(disable, no_plugins, environ)
        return plugins

    def engine(self, type: str) -> Engine:
        """The engine of that type."""
        return cast("Engine", self.owner("engine", type))

    def router(self, type: str) -> Router:
        """The router of that type."""
        return cast("Router", self.owner("router", type))

    def service(self, type: str) -> Service:
        """The service of that type."""
        return cast("Service", self.owner("service", type))

    def accelerator(self, type: str) -> Accelerator:
        """The accelerator of that type."""
        return cast("Accelerator", self.owner("accelerator", type))

    def benchmark(self, type: str) -> Benchmark:
        """The benchmark of that type."""
        return cast("Benchmark", self.owner("benchmark", type))

    def launcher(self, type: str) -> Launcher:
        """The launcher of that type."""
        return cast("Launcher", self.owner("launcher", type))

    def owner(self, kind: Kind, type: str) -> Owner:
        """The facade of a type, loaded on first need."""
        key = (kind, type)
        if key not in self._owners:
            entry = self._resolve(kind, type)
            self._owners[key] = self._load(entry)
        return self._owners[key]

    def entries(self) -> tuple[Entry, ...]:
        """Every entry point of the project's groups with its state, sorted; imports nothing."""
        if self._scan is None:
            self._scan = discover()
            self._entries = judge(self._scan.candidates, self._switches)
        return self._entries

    def unreadable(self) -> tuple[str, ...]:
        """One line per installed metadata that could not be read."""
        self.entries()
        return self._scan.unreadable if self._scan else ()

    def idle_switches(self) -> tuple[Switch, ...]:
        """Switches that match nothing installed: usually a misspelling."""
        candidates = [entry.candidate for entry in self.entries()]
        return tuple(
            switch
            for switch in self._switches
            if switch.name != EVERYTHING and not any(switch.hits(c.type, c.distribution) for c in candidates)
        )

    def installed(self, kind: Kind) -> tuple[str, ...]:
        """The usable types of a kind, sorted; imports nothing."""
        return tuple(sorted({e.candidate.type for e in self.entries() if e.candidate.kind == kind and e.state == "ok"}))

    def loaded(self) -> tuple[Owner, ...]:
        """What was loaded so far, by kind and type."""
        return tuple(self._owners[key] for key in sorted(self._owners))

    def validate(self, plan: Plan, owners: Sequence[Owner]) -> tuple[Problem, ...]:
        """What the plugins of ``owners`` find wrong with a plan; one that fails becomes a problem of its own."""
        from inferlane.plugins.facade import in_type_order
        from inferlane.values import Problem

        problems: list[Problem] = []
        for owner in in_type_order(owners):
            try:
                problems += owner.validate(plan)
            except PluginFault as fault:
                problems.append(Problem(message=str(fault)))
        return tuple(problems)

    def _load(self, entry: Entry) -> Owner:
        from inferlane.plugins.facade import make_owner
        from inferlane.plugins.loader import load_module, load_spec, make_caller

        candidate = entry.candidate
        if candidate.target not in self._managers:
            self._managers[candidate.target] = load_module(candidate)
        manager = self._managers[candidate.target]
        spec = load_spec(candidate, manager)
        return make_owner(candidate, spec, make_caller(candidate, manager))

    def _resolve(self, kind: Kind, type: str) -> Entry:
        claims = [e for e in self.entries() if e.candidate.kind == kind and e.candidate.type == type]
        usable = [e for e in claims if e.state == "ok"]
        if usable:
            return usable[0]
        rivals = [e for e in claims if e.state == "conflict"]
        if rivals:
            raise PluginFault(conflict_text(rivals))
        off = [e for e in claims if e.state == "disabled"]
        if off:
            labels = " and ".join(e.candidate.label for e in off)
            raise PluginFault(f"{kind} '{type}' ({labels}) is switched off {off[0].reason}; remove that to use it")
        raise self._nobody(kind, type)

    def _nobody(self, kind: Kind, type: str) -> PluginFault | UsageFault:
        table = first_party_table()
        distribution = first_party(kind, type, table)
        if distribution is None:
            return UsageFault(self._unknown(kind, type, table))
        present = [e.candidate for e in self.entries() if e.candidate.project == normalise(distribution)]
        if present:
            old = present[0].label
            return MissingPlugin(f"{kind} '{type}' is not in the installed {old}", f"pip install -U {distribution}")
        return MissingPlugin(f"{kind} '{type}' needs a plugin that is not installed", f"pip install {distribution}")

    def _unknown(self, kind: Kind, type: str, table: Table) -> str:
        import difflib

        installed = self.installed(kind)
        near = difflib.get_close_matches(type, sorted({*installed, *first_party_types(kind, table)}), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ";"
        if near and near[0] not in installed:
            hint += f" (pip install {first_party(kind, near[0], table)})"
        return f"no installed plugin adds {kind} {type!r}{hint} installed: {', '.join(installed) or 'none'}"


def conflict_text(rivals: Iterable[Entry]) -> str:
    """The one line of a type that is claimed more than once; equal for every order of the import path."""
    candidates = sorted((e.candidate for e in rivals), key=lambda c: (c.project, c.version, c.target))
    first = candidates[0]
    claims = " and ".join(f"{c.label} ({c.target})" for c in candidates)
    if len({c.project for c in candidates}) == 1:
        step = f"its metadata is installed twice: pip install --force-reinstall {first.distribution}"
    else:
        step = "switch one off by its distribution: " + " or ".join(f"--disable {c.distribution}" for c in candidates)
    return f"{first.kind} '{first.type}' is claimed by {claims}; {step}"
