"""``inferlane rehearse``: the same plan for real, with twins in place of engines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.guarded import run_guarded
from inferlane.cli.recipe_options import recipe_options
from inferlane.cli.run_options import Finite, run_options


@click.command()
@recipe_options
@run_options
@click.option(
    "--fault", "faults", metavar="PROCESS=FAULT", multiple=True, help="Let a twin fail, e.g. decode-0=crash@5."
)
@click.option(
    "--tokens-per-second",
    type=Finite(min=0),
    default=500.0,
    show_default=True,
    help="Pace of each stream of a twin; 0 = unlimited.",
)
@click.option("--load-seconds", type=Finite(min=0), default=0.0, help="Seconds until a twin is healthy.")
@click.option("--full", is_flag=True, help="Do not scale replicas down.")
@click.option("--run-benchmark", is_flag=True, help="Run the recipe's own benchmark command.")
def rehearse(
    recipe: str,
    cluster: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    launcher: str | None,
    output: str | None,
    as_json: bool,
    dry_run: bool,
    grace: float,
    faults: tuple[str, ...],
    tokens_per_second: float,
    load_seconds: float,
    full: bool,
    run_benchmark: bool,
) -> int:
    """Run RECIPE on loopback addresses: every command line, port, mask and gate is real, engines are twins.

    Needs no GPU, no model and no cluster. Exit status as of ``run``.
    """

    def work(announce: Callable[[Path], None]) -> int:
        from inferlane.cli.options import plugins_from_context
        from inferlane.preparation import Request
        from inferlane.rehearsal import RehearsalOptions
        from inferlane.running.start import Wish, start

        options = RehearsalOptions(
            tokens_per_s=tokens_per_second,
            load_s=load_seconds,
            faults=_by_process(faults),
            full=full,
            run_benchmark=run_benchmark,
        )
        wish = Wish(
            request=Request(recipe, cluster, sets, unsets),
            launcher=launcher,
            output=output,
            as_json=as_json,
            dry_run=dry_run,
            grace_s=grace,
            rehearsal=options,
            guardian=os.getppid(),
        )
        return start(wish, plugins_from_context(), announce)

    return run_guarded(work, lambda: as_json)


def _by_process(items: tuple[str, ...]) -> dict[str, str]:
    from inferlane.errors import UsageFault

    found: dict[str, str] = {}
    for item in items:
        name, equals, fault = item.partition("=")
        if not equals:
            raise UsageFault(f"--fault {item}: say PROCESS=FAULT, for example decode-0=crash@5")
        if name in found:
            raise UsageFault(f"--fault {item}: {name} has the fault {found[name]} already; a twin has one")
        found[name] = fault
    return found
