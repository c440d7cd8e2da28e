"""Hooks of engines: what they are, the shape of their workers, the command of one process, extra gates."""
# mypy: disable-error-code="empty-body"

from collections.abc import Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import Command, EngineLayout, EngineSpec, Fleet, Gate, Group, Process, Run
from inferlane.values.configs import EngineConfig


@hookspec
def inferlane_engines() -> Sequence[EngineSpec]:
    """The engine types this module implements.

    Asked once, of the module that was just loaded. One entry per ``engine.type`` word; each must also be an entry point
    in the group ``inferlane.engines``.

    Example::

        return [EngineSpec(type="myengine", summary="My engine", config=MyConfig, speaks=("openai",))]
    """


@hookspec(firstresult=True)
def inferlane_engine_layout(engine: EngineConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    """The shape of one role's workers: processes, port blocks, who takes requests.

    Asked at load, from configuration alone, for each protocol the router proposes (``group.protocol``).
    ``engine`` is the parsed block, ``group`` the role's workers with their arguments, ``fleet`` all roles.
    ``None`` = this configuration does not speak ``group.protocol``. Faults go into ``problems``, with a recipe path.

    Example::

        port = Port(name="http", base=6100, public=True)
        return EngineLayout(parts=(Part(per="node", devices="mask", ports=(port,)),))
    """


@hookspec(firstresult=True)
def inferlane_engine_command(engine: EngineConfig, process: Process, run: Run) -> Command | None:
    """The command of one worker process.

    Asked once per process, after placement and ports. Put into ``args`` only what the plan decides; the recipe's own
    arguments are rendered and checked by the core. ``None`` is an error: every process needs a command.

    Example::

        args = ("--model", run.model, "--host", process.node.bind, "--port", str(process.ports["http"]))
        return Command(program=("myserver",), args=args, twin=Twin(module="inferlane.twins.openai"))
    """


@hookspec(firstresult=True)
def inferlane_engine_gates(engine: EngineConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    """Gates beyond the worker's own health (which follows from ``Serving.health``). ``None`` = no others."""
