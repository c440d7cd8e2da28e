"""``inferlane plan``: every process, port, variable and gate of a recipe, without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from inferlane.cli.recipe_options import recipe_options

if TYPE_CHECKING:
    from inferlane.values import Plan


_RECIPE = re.compile(r"\.ya?ml(:|$)")


class PlanCommand(click.Command):
    """``--explain`` may stand before the recipe, and may be given a flag that is none of this command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As of every command, with the value of ``--explain`` made plain: beside it, a flag has no dashes."""
        own = {"--help", *(name for param in self.params for name in param.opts)}
        plain: list[str] = []
        for word in args:
            if plain[-1:] == ["--explain"] and _RECIPE.search(word):
                plain[-1:] = ["--explain=", word]
            elif plain[-1:] == ["--explain"] and word.startswith("--") and word.partition("=")[0] not in own:
                plain[-1] = f"--explain={word.lstrip('-')}"
            else:
                plain.append(re.sub(r"^--explain=--?(?=.)", "--explain=", word))
        return super().parse_args(ctx, plain)


@click.command(cls=PlanCommand)
@recipe_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "commands", "script"]),
    default="table",
    help="A table, the whole plan, one shell line per process, or the script of a Slurm job.",
)
@click.option(
    "--explain",
    is_flag=False,
    flag_value="",
    metavar="[PATH]",
    help="Say where everything comes from; of a recipe path, process, flag, variable or port only, if named.",
)
@click.option("--allocation", metavar="FILE", help="Plan for these nodes, with their addresses.")
@click.option("--diff", "other", metavar="B", help="What differs in B: a recipe, saved plan or run, as of 'diff'.")
def plan(
    recipe: str,
    cluster: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    form: str,
    explain: str | None,
    allocation: str | None,
    other: str | None,
) -> int:
    """Show every process, port and variable of RECIPE.

    Nothing is started and no address is needed: n0, n1 … stand for the nodes, and RUN in a script for the run folder.
    The same recipe, cluster file and plugins give the same bytes. Of a file of several variants each is shown; as JSON
    they are one object, variant: plan. Exit status: 2 for a wrong recipe or cluster file, 3 for a plugin that is
    missing or broken; with --diff, 1 for a difference.
    """
    import functools

    import msgspec

    from inferlane.cli.diff import show_difference
    from inferlane.cli.options import plugins_from_context
    from inferlane.explanation import plan_on
    from inferlane.preparation import Prepared, Request
    from inferlane.several import for_each

    request = Request(recipe, cluster, sets, unsets)
    if other is not None:
        if explain is not None or allocation is not None or form in ("commands", "script"):
            raise click.UsageError("--diff goes with --format table or json only")
        return show_difference(request, other, form == "json")

    given = None
    if allocation is not None:
        from inferlane.allocation_file import load_allocation

        given = functools.cache(functools.partial(load_allocation, allocation))  # read once for all variants

    def make(name: str, prepared: Prepared) -> tuple[Plan, str, list[str]]:
        made, explained = plan_on(prepared, msgspec.structs.replace(request, recipe=name), given, explain)
        if form != "script":
            return made, explained, prepared.notes(made)
        from inferlane.slurm.show import passed_line, script_of

        if explained:
            click.echo(explained, err=True)
        return made, script_of(prepared, made), [*prepared.notes(made), passed_line(prepared)]

    found = for_each(request, plugins_from_context(), make)
    results = found.results()
    single = len(results) == 1
    if form == "json":
        click.echo(_json([(name, made) for name, (made, _, _) in results]))
    for name, (made, explained, _) in results:
        parts = list(_parts(made, form, explained))
        if parts and not single:
            parts = [f"# {name}" if form in ("commands", "script") else f"=== {name} ===", *parts, ""]
        for part in parts:
            click.echo(part, err=form == "json")
    for line in found.once((name, line) for name, (_, _, lines) in results for line in lines):
        click.echo(line, err=True)
    return 0


def _parts(made: Plan, form: str, explained: str) -> Iterator[str]:
    """``explained``: for ``script``, the script."""
    from inferlane.planning.show import as_commands, as_table

    if form == "script":
        yield explained.rstrip("\n")
        return
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
