"""``inferlane plan``: every process, port, variable and gate of a recipe, without running anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from inferlane.cli.recipe_options import recipe_options

if TYPE_CHECKING:
    from inferlane.values import Plan


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
    give the same bytes. Of a file of several variants each is shown; as JSON they are one object, variant: plan. Exit
    status: 2 for a wrong recipe or cluster file, 3 for a plugin that is missing or broken.
    """
    from inferlane.cli.options import plugins_from_context
    from inferlane.planning import Shape
    from inferlane.planning.explain import Origins
    from inferlane.preparation import Prepared, Request
    from inferlane.several import for_each

    def make(_name: str, prepared: Prepared) -> tuple[Plan, str, list[str]]:
        origins = Origins(prepared.place) if explain else None
        made = prepared.plan(Shape(), origins)
        return made, origins.text(made) if origins is not None else "", prepared.notes(made)

    found = for_each(Request(recipe, cluster, sets, unsets), plugins_from_context(), make)
    results = found.results()
    single = len(results) == 1
    if form == "json":
        click.echo(_json([(name, made) for name, (made, _, _) in results]))
    for name, (made, explained, _) in results:
        parts = list(_parts(made, form, explained))
        if parts and not single:
            parts = [f"# {name}" if form == "commands" else f"=== {name} ===", *parts, ""]
        for part in parts:
            click.echo(part, err=form == "json")
    for line in found.once((name, line) for name, (_, _, lines) in results for line in lines):
        click.echo(line, err=True)


def _parts(made: Plan, form: str, explained: str) -> Iterator[str]:
    from inferlane.planning.show import as_commands, as_table

    if form != "json":
        yield as_commands(made) if form == "commands" else as_table(made)
    if explained:
        yield "\n" + explained


def _json(plans: list[tuple[str, Plan]]) -> str:
    """The plan, or of several one object with the names of the variants."""
    import json

    import msgspec

    from inferlane.planning.show import as_json

    if len(plans) == 1:
        return as_json(plans[0][1])
    each = (f"{json.dumps(name.rpartition(':')[2])}:{as_json(made)}" for name, made in plans)
    return msgspec.json.format("{" + ",".join(each) + "}", indent=2)
