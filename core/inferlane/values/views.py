"""What a plugin sees: read-only views that the core builds from recipe, placement and ports.

Addresses are handles. ``node.ip``, ``node.host``, ``node.bind`` and every URL hold a token that is replaced by the real
address when the plan is bound; embed them, never compare or parse them.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import field

from inferlane.values.base import Args, Env, Ports, Text, Value

ProcessKind = Literal["worker", "router", "service", "benchmark"]


class Group(Value, frozen=True, kw_only=True):
    """All workers of one role. ``gpus`` and ``nodes`` count for one worker. ``kv_events``: the role's block for
    publishing KV cache events, ``None`` = not asked for, empty = the engine's defaults.
    """

    role: str
    workers: int
    gpus: int
    nodes: int
    gpus_per_node: int
    args: Args
    protocol: str = ""
    kv_events: Mapping[str, Any] | None = None


class Fleet(Value, frozen=True, kw_only=True):
    """All groups of a run, in the order prefill, decode, agg, and the protocol that router and engines agreed on."""

    groups: tuple[Group, ...]
    protocol: str = ""

    def workers(self, *roles: str) -> int:
        """How many workers the given roles have together; all roles when none is named."""
        return sum(group.workers for group in self.groups if not roles or group.role in roles)


class Node(Value, frozen=True, kw_only=True):
    """A machine of the allocation, by its symbol in the plan: ``n0`` is the first."""

    name: str

    @property
    def ip(self) -> str:
        """The bare address on the configured interface."""
        return f"{{{self.name}.ip}}"

    @property
    def hostname(self) -> str:
        """The machine's own name, as the scheduler knows it."""
        return f"{{{self.name}.name}}"

    @property
    def host(self) -> str:
        """The address for URLs and host:port pairs; bracketed when it is IPv6."""
        return f"{{{self.name}.host}}"

    @property
    def bind(self) -> str:
        """What to listen on. Never listen on all interfaces: two virtual nodes of one machine would collide."""
        return f"{{{self.name}.bind}}"


class Slot(Value, frozen=True, kw_only=True):
    """A process's share of one node: positions of its devices, 0-based."""

    node: Node
    gpus: tuple[int, ...] = ()


class Devices(Value, frozen=True, kw_only=True):
    """One set of devices on one node.

    ``indices``: positions. ``words``: what to write for them, opaque (an outer mask may hold ``GPU-…`` or ``MIG-…``).
    ``total``: how many the node has. ``whole``: no mask is needed, because the process owns them all (or none).
    """

    indices: tuple[int, ...]
    words: tuple[str, ...]
    total: int
    whole: bool = False


class Peer(Value, frozen=True, kw_only=True):
    """What others may know of a process: its public ports and folders (siblings see all of them).

    ``name``: the recipe's name of a service, empty for others. ``beside``: for a service per worker, the worker process
    it stands beside. ``features``: a router's.
    """

    type: str
    process: str
    part: str
    node: Node
    ports: Ports = field(default_factory=dict)
    dirs: Text = field(default_factory=dict)
    beside: str | None = None
    features: tuple[str, ...] = ()
    name: str = ""


class Process(Value, frozen=True, kw_only=True):
    """The process that a command is wanted for.

    ``index`` of ``count``: among the processes of this part in its worker. ``first_rank``: global rank, in its worker,
    of its first device. ``leader``: the worker's first node. ``ports``: its own, first number of each block.
    ``siblings``: every process of the same worker, router or service (itself included) with all their ports.
    ``mask``: what the accelerator will set for it (empty with ``devices="argv"`` or when it owns the whole node).
    ``args``: the recipe's, as written. ``kv_events``: the role's, see :class:`Group`.
    """

    name: str
    kind: ProcessKind
    type: str
    part: str
    role: str | None
    worker: int | None
    index: int
    count: int
    first_rank: int
    slots: tuple[Slot, ...]
    leader: Node
    ports: Ports
    dirs: Text
    beside: str | None
    siblings: tuple[Peer, ...]
    mask: Env
    args: Args
    kv_events: Mapping[str, Any] | None = None

    @property
    def node(self) -> Node:
        """The node of its first slot."""
        return self.slots[0].node

    @property
    def gpus(self) -> tuple[int, ...]:
        """Device positions on its first node."""
        return self.slots[0].gpus


class Upstream(Value, frozen=True, kw_only=True):
    """An address (or registration) that takes requests. ``url`` and ``address`` (host:port) are ``None`` for engines
    that are reached by discovery only. ``ranks``: data-parallel ranks behind it. ``ports``: its public ports.
    """

    process: str
    role: str
    worker: int
    node: Node
    ranks: int = 1
    url: str | None = None
    address: str | None = None
    ports: Ports = field(default_factory=dict)


class Site(Value, frozen=True, kw_only=True):
    """Facts of the site: devices per node, and RDMA devices by device position."""

    gpus_per_node: int
    rdma_devices: tuple[str, ...] = ()


class Run(Value, frozen=True, kw_only=True):
    """The run around a process.

    ``model``: path or hub id as the process sees it. ``services``: peers of all services. ``endpoint``: the one public
    URL, ``None`` without a front. ``logs``, ``files``, ``results``: folders as the process sees them; a file of a
    command is at ``run.files/process.name/file.name``, what a benchmark writes belongs below ``run.results``.
    ``start_timeout_s``: seconds until the start deadline. ``router_type``: what ``frontend.type`` says, also where no
    router process runs. ``worker_nodes``: every node that workers run on.
    """

    name: str
    model: str
    served_model_name: str
    protocol: str
    fleet: Fleet
    upstreams: tuple[Upstream, ...]
    router: Peer | None
    services: tuple[Peer, ...]
    endpoint: str | None
    site: Site
    start_timeout_s: int
    logs: str = "{run.logs}"
    files: str = "{run.files}"
    results: str = "{run.results}"
    python: str = "{run.python}"
    id: str = "{run.id}"
    router_type: str = ""
    worker_nodes: tuple[Node, ...] = ()
