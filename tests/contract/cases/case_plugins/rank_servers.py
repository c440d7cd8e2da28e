"""A worker that is several servers, one for every two devices; each takes requests, over gRPC, without a health URL."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Part,
    Port,
    Process,
    Run,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    return [EngineSpec(type="case-ranks", summary="one server per rank", config=EngineConfig, speaks=("openai",))]


@hookimpl
def inferlane_engine_layout(engine: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    http = Port(name="http", base=6100, public=True)
    return EngineLayout(
        parts=(Part(per="rank", gpus_per_rank=2, devices="mask", ports=(http,)),),
        serving=Serving(on="each", scheme="grpc", health="tcp"),
    )


@hookimpl
def inferlane_engine_command(engine: EngineConfig, process: Process, run: Run) -> Command | None:
    args = ("--port", str(process.ports["http"]), "--first-rank", str(process.first_rank))
    return Command(program=("rank-server",), args=args, twin=Twin(module="inferlane.twins.openai"))
