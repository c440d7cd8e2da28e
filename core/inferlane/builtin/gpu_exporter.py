"""Service ``gpu-exporter``: the accelerator's metrics exporter, one per node; never critical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import Field

from inferlane.api import (
    Command,
    Exporter,
    Fleet,
    Metrics,
    Part,
    Port,
    Process,
    Run,
    ServiceConfig,
    ServiceLayout,
    ServiceSpec,
    Twin,
    hookimpl,
)

PLUGIN_API = 1


class GpuExporterConfig(ServiceConfig):
    """Asked for by telemetry; its ``exporter`` block is the accelerator's default under cluster file and recipe."""

    exporter: Mapping[str, Any] = Field(description="image, command, port, labels and metrics of the exporter")

    def value(self) -> Exporter:
        """The block as a value."""
        return msgspec.convert(dict(self.exporter), Exporter)


@hookimpl
def inferlane_services() -> Sequence[ServiceSpec]:
    return [ServiceSpec(type="gpu-exporter", summary="GPU metrics, one per node", config=GpuExporterConfig)]


@hookimpl
def inferlane_service_layout(service: GpuExporterConfig, fleet: Fleet) -> ServiceLayout | None:
    exporter = service.value()
    part = Part(
        per="node",
        on="all",
        start="after_router",
        critical="never",
        ports=(Port(name="metrics", base=exporter.port, public=True),),
        metrics=Metrics(port="metrics", path=exporter.path),
    )
    return ServiceLayout(parts=(part,))


@hookimpl
def inferlane_service_command(service: GpuExporterConfig, process: Process, run: Run) -> Command | None:
    exporter = service.value()
    words = tuple(word.replace("{port}", str(process.ports["metrics"])) for word in exporter.command)
    return Command(
        program=words[:1], args=words[1:], image=exporter.image, twin=Twin(module="inferlane.twins.exporter")
    )
