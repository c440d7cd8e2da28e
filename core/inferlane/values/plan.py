"""The plan: every process, port, variable and gate of a run, as data. What dry-run prints, rehearsal and launchers
execute, and golden tests compare.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from inferlane.values.base import Critical, Phase, Problem, Text, Value
from inferlane.values.command import File, Need, Twin
from inferlane.values.gates import Gate
from inferlane.values.layout import Counter, Metrics, Mpi
from inferlane.values.views import Node, ProcessKind, Slot


class PortBlock(Value, frozen=True, kw_only=True):
    """A block of ports that a process binds: its first number and how many. ``held`` is ``False`` on processes that are
    only told the number (a leader's port, bound on the leader).
    """

    first: int
    width: int = 1
    held: bool = True


class PlannedProcess(Value, frozen=True, kw_only=True):
    """One OS process (or one MPI step), complete.

    ``env``: variables to set, without the device mask; ``unset``: names to remove; ``slot_env``: the device mask, per
    slot. ``phase`` and ``tier``: when it starts and in which teardown tier it ends. ``ranks``: data-parallel ranks it
    serves.
    """

    name: str
    kind: ProcessKind
    type: str
    part: str
    phase: Phase
    tier: int
    program: tuple[str, ...]
    slots: tuple[Slot, ...]
    role: str | None = None
    worker: int | None = None
    index: int = 0
    count: int = 1
    ranks: int = 1
    critical: Critical = "always"
    args: tuple[str, ...] = ()
    image: str | None = None
    on_host: bool = False
    env: Text = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    slot_env: tuple[Text, ...] = ()
    ports: Mapping[str, PortBlock] = field(default_factory=dict)
    dirs: Text = field(default_factory=dict)
    files: tuple[File, ...] = ()
    outputs: tuple[str, ...] = ()
    twin: Twin | None = None
    flags: str | None = None
    mpi: Mpi | None = None
    needs: tuple[Need, ...] = ()
    metrics: Metrics | None = None
    fatal_log: tuple[str, ...] = ()
    ready_log: tuple[str, ...] = ()

    @property
    def mask(self) -> Text:
        """The device mask on its first node; empty if it needs none."""
        return self.slot_env[0] if self.slot_env else {}

    @property
    def argv(self) -> tuple[str, ...]:
        """Program and arguments."""
        return (*self.program, *self.args)


class PlannedUpstream(Value, frozen=True, kw_only=True):
    """Who takes requests, and how to see that it has served (``served`` is ``None`` where nothing tells)."""

    process: str
    role: str
    worker: int
    ranks: int = 1
    url: str | None = None
    served: Counter | None = None


class Plan(Value, frozen=True, kw_only=True):
    """Every process, port, variable and gate of a run. Same recipe, cluster file, shape and plugins: same bytes.

    ``endpoint``: the public URL. ``protocol``: what router and engines agreed on. ``start_timeout_s``: the start
    deadline, seconds from the start of the first process. ``silence_s``: a critical process that was ready, and for so
    many seconds neither holds its checks nor writes anything new, fails the run; 0 = never. ``benchmark``: the
    benchmark block, as given, and its type's settings; ``None`` means serve until stopped. ``uses_devices``: whether
    any process needs accelerator devices. ``versions``: distribution to version of each plugin that took part.
    ``missing_plugins``: known type to the line that says how to get its plugin; such a plan can be rehearsed but not
    run. ``addresses``: node name to what it listens on, a token until bound.
    """

    name: str
    model: str
    served_model_name: str
    protocol: str
    nodes: tuple[Node, ...]
    gpus_per_node: int
    processes: tuple[PlannedProcess, ...]
    gates: tuple[Gate, ...]
    start_timeout_s: int
    silence_s: float = 180.0
    probe_interval_s: float = 1.0
    probe_timeout_s: float = 5.0
    endpoint: str | None = None
    upstreams: tuple[PlannedUpstream, ...] = ()
    benchmark: Mapping[str, Any] | None = None
    uses_devices: bool = True
    router: Mapping[str, Any] | None = None
    versions: Text = field(default_factory=dict)
    missing_plugins: Text = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    addresses: Text = field(default_factory=dict)
    format: int = 1

    def process(self, name: str) -> PlannedProcess:
        """The process of that name; ``KeyError`` if there is none."""
        for process in self.processes:
            if process.name == name:
                return process
        raise KeyError(name)
