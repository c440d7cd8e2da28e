"""Service ``generic``: any command beside the workers, with its own placement, phase and readiness."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from inferlane.api import (
    Check,
    Command,
    FileCheck,
    Fleet,
    Gate,
    HttpCheck,
    LogCheck,
    Part,
    Phase,
    Port,
    Process,
    Run,
    ServiceConfig,
    ServiceLayout,
    ServiceSpec,
    TcpCheck,
    Twin,
    hookimpl,
)
from inferlane.builtin.unsupported import Unsupported

PLUGIN_API = 1

Start = Literal["infra", "before_workers", "with_workers", "after_frontend"]
PHASE: dict[Start, Phase] = {
    "infra": "infra",
    "before_workers": "before_workers",
    "with_workers": "workers",
    "after_frontend": "after_router",
}
BLOCKS: dict[Start, Phase] = {
    "infra": "before_workers",
    "before_workers": "workers",
    "with_workers": "router",
    "after_frontend": "traffic",
}
NODES = {"infra": "head", "compute": "all"}


class Block(BaseModel):
    """Base of the nested blocks."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Placement(Block):
    """Where instances run."""

    node: Literal["head", "infra", "prefill", "decode", "agg", "workers", "compute", "all"] = Field(
        default="head", description="which nodes"
    )
    per: Literal["node", "worker"] | None = Field(default=None, description="one per node, or beside each worker")
    pool: Unsupported = Field(default=None, description="not supported yet: nodes of its own")


class HttpReady(Block):
    """GET must answer ``status``."""

    port: int = Field(ge=1, le=65535, description="on the service's node")
    path: str = "/health"
    status: int = 200


class LogReady(Block):
    """A line of the service's log must match."""

    pattern: str


class FileReady(Block):
    """A file must exist on the service's node."""

    path: str


class Readiness(Block):
    """Exactly one probe."""

    port: int | None = Field(default=None, ge=1, le=65535, description="this TCP port accepts")
    tcp: int | None = Field(default=None, ge=1, le=65535, description="the same as port")
    http: HttpReady | None = None
    log: LogReady | None = None
    file: FileReady | None = None
    timeout: float = Field(
        default=120, gt=0, validation_alias=AliasChoices("timeout", "timeout_seconds"), description="seconds"
    )
    interval: float = Field(
        default=2,
        gt=0,
        validation_alias=AliasChoices("interval", "interval_seconds"),
        description="seconds; no effect, the run probes at its own pace",
    )

    @model_validator(mode="after")
    def one_probe(self) -> Readiness:
        """Exactly one of the probes is given."""
        given = [name for name in ("port", "tcp", "http", "log", "file") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of port, tcp, http, log, file (here: {', '.join(given) or 'none'})")
        return self


class GenericConfig(ServiceConfig):
    """services: [{name: cache, command: [cache-server, --port, "7000"], readiness: {port: 7000}}]"""

    command: str | tuple[str, ...] = Field(
        default=(), description="argv, or a line that is split like a shell would, without one; not for external ones"
    )
    args: tuple[str, ...] = Field(default=(), description="more arguments")
    placement: Placement = Field(default=Placement(), description="where instances run")
    start: Start = Field(default="after_frontend", description="the phase it starts in")
    readiness: Readiness | None = Field(default=None, description="what must hold before the next phase")
    critical: bool = Field(default=False, description="whether its exit fails the run")
    inherit_discovery_env: bool = Field(default=True, description="no effect: services are told of each other anyway")
    build_command: Unsupported = Field(default=None, description="not supported yet")
    build_timeout_seconds: Unsupported = Field(default=None, description="not supported yet")
    cpu_bind: Unsupported = Field(default=None, description="not supported yet")
    cpus_per_task: Unsupported = Field(default=None, description="not supported yet")
    metrics: Unsupported = Field(default=None, description="not supported yet")
    nodes: Unsupported = Field(default=None, description="not supported yet: nodes of its own")
    options: Unsupported = Field(default=None, description="not supported yet")
    preamble: Unsupported = Field(default=None, description="not supported yet")
    source: Unsupported = Field(default=None, description="not supported yet")
    srun_options: Unsupported = Field(default=None, description="not supported yet")
    terminal: Unsupported = Field(default=None, description="not supported yet: its end ends the run")

    @field_validator("command")
    @classmethod
    def _has_a_program(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        """Splits as it will be split later, so that a fault is told at its own line."""
        try:
            words = shlex.split(command) if isinstance(command, str) else command
        except ValueError as fault:
            raise ValueError(f"cannot be split into words ({fault}); write it as a list of words") from fault
        if not words or not words[0]:
            raise ValueError("names no program; write the program and its arguments")
        return command

    @model_validator(mode="after")
    def _has_a_command(self) -> GenericConfig:
        """Whatever is started needs one."""
        if self.external is None and not self.command:
            raise ValueError("has no command; write the program and its arguments")
        return self

    @model_validator(mode="after")
    def _can_be_seen(self) -> GenericConfig:
        """Of a service that runs elsewhere neither log nor files are here to be looked at."""
        if self.external is not None and self.readiness and (self.readiness.log or self.readiness.file):
            raise ValueError("an external service is seen at an address only; use port, tcp or http in readiness")
        return self


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [ServiceSpec(type="generic", summary="any command beside the workers", config=GenericConfig)]


@hookimpl
def inferlane_service_layout(service: GenericConfig, fleet: Fleet) -> ServiceLayout | None:
    on = NODES.get(service.placement.node, service.placement.node)
    per = service.placement.per or ("run" if on == "head" else "node")
    ready = service.readiness
    number = ready and (ready.port or ready.tcp or (ready.http and ready.http.port))
    ports = (Port(name="ready", base=number, pinned=True, public=True),) if number else ()
    part = Part(
        per=per,
        on="workers" if per == "worker" and on == "head" else on,
        start=PHASE[service.start],
        critical="always" if service.critical else "never",
        devices="mask" if per == "worker" else "none",
        ports=ports,
    )
    return ServiceLayout(parts=(part,))


@hookimpl
def inferlane_service_command(service: GenericConfig, process: Process, run: Run) -> Command | None:
    words = tuple(shlex.split(service.command)) if isinstance(service.command, str) else service.command
    return Command(program=words[:1], args=(*words[1:], *service.args), twin=Twin(prefer_real=True))


@hookimpl
def inferlane_service_gates(service: GenericConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    ready = service.readiness
    if ready is None:
        return None
    gate = Gate(
        name=f"{process.name} is ready",
        before=BLOCKS[service.start],
        checks=(_check(ready, process),),
        timeout_s=ready.timeout,
    )
    return [gate]


def _check(ready: Readiness, process: Process) -> Check:
    if ready.http:
        return HttpCheck(
            url=f"http://{process.node.host}:{ready.http.port}{ready.http.path}", status=(ready.http.status,)
        )
    if ready.log:
        return LogCheck(process=process.name, pattern=ready.log.pattern)
    if ready.file:
        return FileCheck(process=process.name, path=ready.file.path)
    return TcpCheck(address=f"{process.node.host}:{ready.port or ready.tcp}")
