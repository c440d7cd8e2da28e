"""What a plugin answers for one process, once placement and ports are known."""

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from inferlane.values.base import Env, Problem, Text, Value


class File(Value, frozen=True, kw_only=True):
    """A file the core writes at ``run.files/process.name/name`` before the process starts; ``secret`` makes it 0600."""

    name: str
    text: str
    secret: bool = False


class Twin(Value, frozen=True, kw_only=True):
    """What a rehearsal runs instead of ``program``: ``python -m module`` with the same arguments.

    ``prefer_real``: use the real program where it is installed. An empty ``module`` means there is only the real one,
    and ``install`` is then the pip line (or package) that brings it. ``options``: text for the twin.
    """

    module: str = ""
    prefer_real: bool = False
    install: str = ""
    options: Text = field(default_factory=dict)


class Need(Value, frozen=True, kw_only=True):
    """Checked on the process's node before it starts: bytes of host memory, an existing path, a program on PATH."""

    kind: Literal["memory_bytes", "path", "program"]
    value: str


class Command(Value, frozen=True, kw_only=True):
    """How to start one process.

    ``program``: argv prefix that a rehearsal replaces as a whole, wrappers included. ``args``: what the plan decides,
    and nothing of the recipe's. ``consumed``: recipe arguments used up here (``*`` = all); the core renders the others
    by the Spec's style and refuses one that ``args`` already holds. ``env`` beats the recipe, the recipe beats
    ``env_defaults``. ``flags``: ``package:resource`` of the program's flag table. ``image``: container where the recipe
    names none. ``on_host``: outside the recipe's container. ``outputs``: globs below ``run.results``, read back for
    ``inferlane_benchmark_summary``.
    """

    program: tuple[str, ...]
    args: tuple[str, ...] = ()
    flags: str | None = None
    consumed: tuple[str, ...] = ()
    env: Env = field(default_factory=dict)
    env_defaults: Env = field(default_factory=dict)
    files: tuple[File, ...] = ()
    twin: Twin | None = None
    needs: tuple[Need, ...] = ()
    image: str | None = None
    on_host: bool = False
    outputs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Export(Value, frozen=True, kw_only=True):
    """What a service gives to one other process: ``env`` beats the recipe, the recipe beats ``env_defaults``."""

    env: Env = field(default_factory=dict)
    env_defaults: Env = field(default_factory=dict)


class Metric(Value, frozen=True, kw_only=True):
    """An exporter's series and the unit it has there (``W``, ``uJ``, ``mJ``, ``%``, ``C``)."""

    series: str
    unit: str


class Exporter(Value, frozen=True, kw_only=True):
    """A GPU metrics exporter. ``command``: argv; ``{port}`` in it is replaced. ``index_label`` and ``identity_label``:
    which labels hold the device's index and its stable id. ``metrics``: our name to the exporter's series. ``url``: an
    exporter that runs already on each node; nothing is started.
    """

    command: tuple[str, ...]
    port: int
    image: str | None = None
    path: str = "/metrics"
    index_label: str = "gpu"
    identity_label: str = "UUID"
    url: str | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)


class ProbeCommand(Value, frozen=True, kw_only=True):
    """A command whose output describes the machine; the core runs it with a timeout and hands the text back."""

    name: str
    argv: tuple[str, ...]
    timeout_s: float = 5.0


class Summary(Value, frozen=True, kw_only=True):
    """A benchmark's verdict. ``ok``: what was asked for came back. ``rows``: one mapping per point, for the table."""

    ok: bool
    requests: int = 0
    errors: int = 0
    cancelled: int = 0
    message: str = ""
    rows: tuple[Mapping[str, float | int | str], ...] = ()


class Finding(Value, frozen=True, kw_only=True):
    """One line of ``inferlane doctor``."""

    check: str
    ok: bool
    detail: str = ""
