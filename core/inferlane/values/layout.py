"""What a plugin asks for: the shape of an engine, router or service, from configuration alone."""

from typing import Literal

from msgspec import field

from inferlane.values.base import Args, Critical, Phase, Problem, Text, Value


class Port(Value, frozen=True, kw_only=True):
    """A named block of consecutive TCP port numbers on one node.

    ``base``: the first number tried; keep it below 32768, the kernel's usual ephemeral floor. ``width``: how many
    consecutive numbers the program binds or derives from the first. ``scope``: ``process`` = each process has its own
    block on its node; ``leader`` = one block on the worker's first node, the same number told to all its processes.
    ``public``: other plugins may read it. ``pinned``: exactly ``base``, or a problem that names both claimants.
    """

    name: str
    base: int
    width: int = 1
    scope: Literal["process", "leader"] = "process"
    public: bool = False
    pinned: bool = False


class Dir(Value, frozen=True, kw_only=True):
    """A private folder on the process's node with a short path, made before the process and removed after the run.

    ``public``: other plugins may read its path (for example a socket folder).
    """

    name: str
    public: bool = False


class Mpi(Value, frozen=True, kw_only=True):
    """One MPI step over all slots of a process, instead of one process per node."""

    kind: str = "pmix"
    oversubscribe: bool = True
    cpu_bind: str = "none"


class Metrics(Value, frozen=True, kw_only=True):
    """Where a part serves Prometheus text: one of its own ports, and a path."""

    port: str
    path: str = "/metrics"


class Part(Value, frozen=True, kw_only=True):
    """A kind of process of its owner: the engine itself, a sidecar, a proxy in front of routers.

    ``per``: one process per ``node`` of the worker, per ``rank`` (``gpus_per_rank`` devices each), per ``worker`` (one
    step over all its nodes), per ``leader`` (first node only), or per ``run``. Services use ``run``, ``node``, or
    ``worker`` (one beside each worker process, with its devices). ``on``: for routers and services, which nodes:
    ``head``, ``all``, ``workers``, or a role. ``devices``: ``mask`` = the accelerator's variable, ``argv`` = the plugin
    passes them as arguments, ``none``. ``start``: the phase, ``None`` for the kind's own (engine ``workers``, router
    ``router``, service ``after_router``, benchmark ``traffic``). ``fatal_log``: regular expressions; a matching line
    fails the run at any time. ``ready_log``: the same for lines by which the program says that it serves; they explain
    a start that was not ready in time, and decide nothing.
    """

    name: str = "main"
    per: Literal["node", "rank", "worker", "leader", "run"] = "node"
    on: str = "head"
    gpus_per_rank: int = 1
    ports: tuple[Port, ...] = ()
    dirs: tuple[Dir, ...] = ()
    devices: Literal["mask", "argv", "none"] = "none"
    mpi: Mpi | None = None
    start: Phase | None = None
    critical: Critical = "always"
    metrics: Metrics | None = None
    fatal_log: tuple[str, ...] = ()
    ready_log: tuple[str, ...] = ()


class ServiceRequest(Value, frozen=True, kw_only=True):
    """A service that must run beside: its type, and the options to start it with if no recipe block declares one."""

    type: str
    options: Args = field(default_factory=dict)


class Layout(Value, frozen=True, kw_only=True):
    """The shape of one owner. ``owned_args``: argument name to what the user should do instead of setting it."""

    parts: tuple[Part, ...] = ()
    services: tuple[ServiceRequest, ...] = ()
    owned_args: Text = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Counter(Value, frozen=True, kw_only=True):
    """A Prometheus counter that grows by one for each request an upstream has finished.

    The last readiness gate reads it to see which worker served. ``path`` is on the upstream's own HTTP port. With
    ``rank_label`` the series has one row per data-parallel rank and every rank must have served.
    """

    series: str
    path: str = "/metrics"
    rank_label: str | None = None


class Serving(Value, frozen=True, kw_only=True):
    """Who of a worker takes requests.

    ``part`` and ``port``: which process and which of its ports (``None``: it takes requests, but not at a URL).
    ``on``: the worker's ``leader`` only, or ``each`` of its processes. ``ranks``: data-parallel ranks behind one
    upstream. ``health``: a path that answers 200 when the worker serves, ``tcp`` = accepting is enough, ``None`` = no
    check of its own. ``served``: a counter of finished requests, if the engine has one.
    """

    part: str = "main"
    on: Literal["leader", "each"] = "leader"
    port: str | None = "http"
    scheme: str = "http"
    ranks: int = 1
    health: str | None = "/health"
    served: Counter | None = None


class EngineLayout(Layout, frozen=True, kw_only=True):
    """The shape of one role's workers. ``served_model_name``: as the recipe's arguments give it; the first of prefill,
    agg, decode wins, else the last component of the model path.
    """

    serving: Serving = Serving()
    served_model_name: str | None = None


class RouterLayout(Layout, frozen=True, kw_only=True):
    """The shape of a router.

    ``front``: who owns the public port: the ``router``, the one ``upstream`` (a direct router), or ``none``. ``port``:
    which of the router's ports takes the public number. ``ready_workers_first``: every worker's health holds before the
    router starts, instead of before traffic. ``features``: words that engines may react to, e.g. ``dp-aware``.
    """

    front: Literal["router", "upstream", "none"] = "router"
    port: str = "http"
    ready_workers_first: bool = False
    features: tuple[str, ...] = ()


class ServiceLayout(Layout, frozen=True, kw_only=True):
    """The shape of a service."""
