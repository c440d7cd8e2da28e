"""What users write, per kind: pydantic bases that a plugin's own models extend.

A plugin's model subclasses the base of its kind and adds fields, each with a default and a description. Unknown keys
are refused. ``type`` is the word the user wrote; one model may serve several types.
"""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator


class Config(BaseModel):
    """Base of every block that names a type."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    type: str = Field(description="which plugin reads this block")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """``true`` is not 1."""
        if isinstance(value, bool) and info.field_name is not None:
            annotation = cls.model_fields[info.field_name].annotation
            kinds = set(get_args(annotation) or (annotation,))
            if kinds & {int, float} and bool not in kinds:
                raise ValueError(f"must be a number, not {str(value).lower()}")
        return value


class EngineConfig(Config):
    """The ``engine:`` block."""


class RouterPlacement(BaseModel):
    """Where the router runs."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    node: Literal["head", "first_decode"] = Field(
        default="head", description="the first node, or the first decode leader's"
    )


class RouterConfig(Config):
    """The ``frontend:`` block. ``args`` are the router's own flags; their values are rendered by the Spec's style."""

    args: dict[str, Any] = Field(default={}, description="flags of the router program")
    env: dict[str, str | None] = Field(default={}, description="environment of the router; null removes a name")
    port: int = Field(default=8000, ge=1, le=65535, description="public port of the endpoint")
    enable_multiple_frontends: bool = Field(default=False, description="several routers behind one proxy")
    placement: RouterPlacement = Field(default=RouterPlacement(), description="node of the router")
    container_image: str | None = Field(default=None, description="image of the router; default: the model's")


class ServiceConfig(Config):
    """One item of ``services:``."""

    name: str | None = Field(default=None, description="name of the service; default: its type")
    external: str | None = Field(default=None, description="host of a service that already runs; nothing is started")
    enabled: bool = Field(default=True, description="false leaves the service out")
    env: dict[str, str | None] = Field(default={}, description="environment of the service; null removes a name")
    container: str | None = Field(default=None, description="image of the service")


class AcceleratorConfig(Config):
    """What the cluster file and recipe say of the accelerator; the plugin's subclass gives the default."""

    visible_devices_env: str = Field(description="the one variable that holds the device mask")


class BenchmarkConfig(Config):
    """The ``benchmark:`` block."""

    env: dict[str, str | None] = Field(default={}, description="environment of the client; null removes a name")


class LauncherConfig(Config):
    """Launcher settings of the cluster file."""
