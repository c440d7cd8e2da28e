"""The recipe: one file that says what to run."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from inferlane.config.blocks import HealthCheck, HostSetup, Identity, Raw, Telemetry
from inferlane.config.fields import (
    MOST_PLANNED,
    Anything,
    Block,
    Duration,
    Environment,
    GpusPerNode,
    Line,
    Mount,
    OptionalText,
    Options,
    PlannedCount,
    PortBases,
    RunName,
    Switch,
    Variable,
    empty_list,
    empty_mapping,
    whole,
)
from inferlane.values import Role


def _schema(value: Any) -> int:
    if value != 2 or isinstance(value, bool):
        raise ValueError("must be 2, the format that is read here")
    return 2


def _nodes(value: Any) -> int | Literal["colocate"]:
    if value == "colocate":
        return "colocate"
    if isinstance(value, str):
        raise ValueError("must be a whole number, or the word colocate")
    number = whole(value)
    if number < 1:
        raise ValueError("must be at least 1; to share the prefill nodes, write colocate")
    if number > MOST_PLANNED:
        raise ValueError(f"must be at most {MOST_PLANNED}, the most that is planned")
    return number


def _typed(value: Any) -> Any:
    """``engine: word`` is short for ``engine: {type: word}``."""
    if isinstance(value, str):
        return {"type": value}
    if value is not None and not isinstance(value, dict):
        raise ValueError("must be the name of an engine, or a mapping with a type")
    return value


def _block(value: Any) -> Any:
    """A plugin's block, without ``args`` or ``env`` keys that have nothing behind them."""
    if isinstance(value, str):
        raise ValueError(f"must be a mapping; write {{type: {value}}}")
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if item is not None or key not in ("args", "env")}


def _generic(value: Any) -> Any:
    """A service without a type is a generic one."""
    return {"type": "generic", **_block(value)} if isinstance(value, dict) else value


def _manual(value: Any) -> Any:
    """A benchmark without a type serves until it is stopped."""
    return {"type": "manual", **_block(value)} if isinstance(value, dict) else value


def _events(value: Any) -> bool | dict[str, Any]:
    if isinstance(value, bool | dict):
        return value
    raise ValueError("must be true, false or a mapping")


Engine = Annotated[Raw | None, BeforeValidator(_typed)]


class Model(Block):
    """What is served."""

    path: Line = Field(description="folder, alias of the cluster file, or hf:ORGANISATION/NAME")
    container: OptionalText = Field(default=None, description="image, or alias of the cluster file")
    precision: OptionalText = Field(default=None, description="a label, such as fp8")


class Resources(Block):
    """The machines the recipe is written for."""

    gpu_type: OptionalText = Field(default=None, description="the accelerator, such as h100")
    gpus_per_node: Annotated[GpusPerNode | None, Field(description="GPUs of one node")] = None
    spread_workers: Switch = Field(default=False, description="each worker on a node of its own")
    visible_devices_env: Annotated[Variable | None, Field(description="the device mask variable")] = None


class RoleBlock(Block):
    """The workers of one role. ``gpus`` counts for one worker."""

    nodes: Annotated[int | Literal["colocate"], BeforeValidator(_nodes)] = Field(
        description="nodes of all workers together, or colocate: share those of prefill"
    )
    workers: PlannedCount = Field(default=1, description="how many")
    gpus: Annotated[
        PlannedCount | None, Field(description="GPUs of one worker; default: nodes x gpus_per_node / workers")
    ] = None
    args: Anything = Field(default={}, description="the engine's own flags")
    env: Environment = Field(default={}, description="environment; null removes a name")
    engine: Engine = Field(default=None, description="engine of this role, where roles differ")
    container: OptionalText = Field(default=None, description="image of this role")
    kv_events: Annotated[bool | Raw, BeforeValidator(_events)] = Field(
        default=False, description="publish cache events"
    )
    critical: Switch = Field(default=True, description="the run fails when a worker ends")
    srun_options: Options = Field(default={}, description="options of this role's steps")


class Slurm(Block):
    """What the scheduler is asked for."""

    account: OptionalText = None
    partition: OptionalText = None
    time_limit: Duration = Field(default=None, description="H:MM:SS, M:SS or D-HH:MM:SS")


class Recipe(Block):
    """A recipe of schema 2. ``engine``, ``frontend``, ``services`` and ``benchmark`` are read by their plugins."""

    schema_version: Annotated[int, BeforeValidator(_schema)] = Field(alias="schema", description="always 2")
    name: RunName = Field(description="name of the run")
    model: Model
    resources: Annotated[Resources, BeforeValidator(empty_mapping)] = Resources.model_construct()
    engine: Engine = Field(default=None, description="engine of all roles")
    roles: Annotated[dict[Role, RoleBlock], BeforeValidator(empty_mapping)] = Field(
        default={}, description="the workers"
    )
    frontend: Annotated[Raw, BeforeValidator(_block)] = Field(description="the router")
    environment: Environment = Field(default={}, description="environment of every process; null removes a name")
    health_check: Annotated[HealthCheck, BeforeValidator(empty_mapping)] = HealthCheck.model_construct()
    services: Annotated[tuple[Annotated[Raw, BeforeValidator(_generic)], ...], BeforeValidator(empty_list)] = Field(
        default=(), description="processes beside the workers"
    )
    benchmark: Annotated[Raw | None, BeforeValidator(_manual)] = Field(default=None, description="the load")
    telemetry: Telemetry | None = Field(default=None, description="what is recorded beside the benchmark")
    container_mounts: Annotated[dict[Line, Line], BeforeValidator(empty_mapping)] = Field(
        default={}, description="host: container"
    )
    extra_mount: Annotated[tuple[Mount, ...], BeforeValidator(empty_list)] = Field(
        default=(), description="host:container[:options]"
    )
    srun_options: Options = Field(default={}, description="options of every step")
    sbatch_directives: Options = Field(default={}, description="directives of the job")
    slurm: Annotated[Slurm, BeforeValidator(empty_mapping)] = Slurm.model_construct()
    host_setup: HostSetup | None = Field(default=None, description="commands on the bare nodes")
    identity: Identity | None = Field(default=None, description="what is said to run")
    strict_flags: Literal["error", "warn", "off"] = Field(
        default="warn",
        description="unknown flags of a program; error holds where identity.frameworks or the image tag declares the "
        "version that the flag table is of, and warns elsewhere",
    )
    ports: PortBases = Field(default={}, description="<type>.<port>: first number tried")
