"""Blocks that a recipe and a cluster file share."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from inferlane.config.fields import (
    Anything,
    Block,
    CommandLine,
    Count,
    FirstPort,
    OptionalText,
    Switch,
    Words,
    empty_list,
)

_CLOSED = ConfigDict(extra="forbid")


class HealthCheck(Block):
    """The start deadline, ``max_attempts`` times ``interval_seconds``, and how long a worker may be silent later."""

    max_attempts: Count = Field(default=180, description="how many intervals until the start has failed")
    interval_seconds: Count = Field(default=10, description="seconds of one interval")
    silence_seconds: int = Field(
        default=180,
        ge=0,
        description="a worker or router that was healthy and then neither answers nor logs anything new for so long "
        "fails the run; 0 = never",
    )
    fatal_log_markers: Switch = Field(
        default=True, description="false: lines that an engine's plugin calls fatal do not end the run"
    )
    extra_fatal_log_patterns: Annotated[tuple[str, ...], BeforeValidator(empty_list)] = Field(
        default=(), description="regular expressions; a line of a worker's log that matches one ends the run"
    )

    @field_validator("extra_fatal_log_patterns")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                words = {"pattern": pattern, "reason": str(error)}
                raise PydanticCustomError(
                    "pattern", "'{pattern}' is not a regular expression: {reason}", words
                ) from None
        return patterns


class HostSetup(Block):
    """Commands on the bare nodes, before and after the run."""

    commands: Annotated[tuple[Words, ...], BeforeValidator(empty_list)] = Field(
        default=(), description="before the run"
    )
    teardown: Annotated[tuple[Words, ...], BeforeValidator(empty_list)] = Field(default=(), description="after the run")
    nodes: Literal["all", "workers"] = Field(default="all", description="on which nodes")
    ignore_failure: Switch = Field(default=False, description="go on when a command fails")
    timeout_seconds: Count = Field(default=300, description="seconds for all commands of a node")


class ExporterBlock(TypedDict, total=False):
    """A GPU exporter. Keys that are absent keep the default of the accelerator's plugin."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    container_image: OptionalText
    command: CommandLine
    port: FirstPort
    path: Words
    url: Words
    gpu_labels: Anything
    gpu_metrics: Anything


class Telemetry(TypedDict, total=False):
    """What is recorded beside the benchmark. Only the keys that the recipe states are present."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    enabled: Switch
    collect_interval_ms: Count
    default_gpu_exporter: ExporterBlock | None


class ModelIdentity(TypedDict, total=False):
    """Which model the recipe says it runs."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    repo: OptionalText
    revision: OptionalText


class ContainerIdentity(TypedDict, total=False):
    """Which image the recipe says it runs in."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    image: OptionalText


class Identity(TypedDict, total=False):
    """What the recipe declares of its parts, to be compared with what runs. ``frameworks``: name to version."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    model: ModelIdentity
    container: ContainerIdentity
    frameworks: dict[str, Words]


Raw = dict[str, Any]
"""A block that its plugin reads."""
