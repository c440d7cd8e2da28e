"""``inferlane check``: a recipe and its cluster file, without running anything."""

from __future__ import annotations

import click

from inferlane.cli.recipe_options import recipe_options


@click.command()
@recipe_options
@click.option("--strict", is_flag=True, help="Warnings are errors.")
def check(recipe: str, cluster: str | None, sets: tuple[str, ...], unsets: tuple[str, ...], strict: bool) -> int:
    """Check RECIPE and the cluster file: everything that planning finds, with the plan thrown away.

    A file of several variants is checked in all of them; a selector takes one, or with * and ? those that match.
    Exit status: 0 = it can be run; 2 = a fault (with --strict, or a warning); 3 = a plugin is missing or broken.
    """
    from inferlane.cli.options import plugins_from_context
    from inferlane.errors import EXIT_OK, EXIT_USAGE
    from inferlane.planning import Shape
    from inferlane.preparation import Prepared, Request
    from inferlane.several import for_each

    def look(_name: str, prepared: Prepared) -> tuple[str, list[str]]:
        made = prepared.plan(Shape())
        workers = sum(process.kind == "worker" for process in made.processes)
        counts = f"{workers} worker process(es) on {len(made.nodes)} node(s), {len(made.processes)} in all"
        return counts, prepared.notes(made)

    found = for_each(Request(recipe, cluster, sets, unsets), plugins_from_context(), look)
    notes = found.once((name, line) for name, (_, lines) in found.done for line in lines)
    for line in notes:
        click.echo(line, err=True)
    for name, (counts, _) in found.done:
        click.echo(f"{name}: ok: {counts}")
    found.results()
    return EXIT_USAGE if strict and any("warning:" in line for line in notes) else EXIT_OK
