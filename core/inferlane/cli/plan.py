"""``inferlane plan``: every process, port, variable and gate of a recipe, without running anything."""

from __future__ import annotations

import click

from inferlane.cli.recipe_options import recipe_options


@click.command()
@recipe_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "commands"]),
    default="table",
    help="A table, the whole plan, or one shell line per process.",
)
@click.option("--explain", is_flag=True, help="Say where each argument and variable comes from.")
def plan(
    recipe: str, cluster: str | None, sets: tuple[str, ...], unsets: tuple[str, ...], form: str, explain: bool
) -> None:
    """Show every process, port and variable of RECIPE.

    Nothing is started and no address is needed: n0, n1 … stand for the nodes. The same recipe, cluster file and plugins
    give the same bytes. Exit status: 2 for a wrong recipe or cluster file, 3 for a plugin that is missing or broken.
    """
    from inferlane.cli.options import plugins_from_context
    from inferlane.planning import Shape
    from inferlane.planning.explain import Origins
    from inferlane.planning.show import as_commands, as_json, as_table
    from inferlane.preparation import Request, prepare

    prepared = prepare(Request(recipe, cluster, sets, unsets), plugins_from_context())
    origins = Origins(prepared.place) if explain else None
    made = prepared.plan(Shape(), origins)
    if form == "json":
        click.echo(as_json(made))
    elif form == "commands":
        click.echo(as_commands(made))
    else:
        click.echo(as_table(made))
    if origins is not None:
        click.echo("\n" + origins.text(made), err=form == "json")
    for line in prepared.notes(made):
        click.echo(line, err=True)
