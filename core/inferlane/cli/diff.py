"""``inferlane diff``: what differs between two recipes, plans or runs, process by process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from inferlane.preparation import Request


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--cluster", metavar="FILE", help="Cluster file for recipes; default: found by variable or here.")
@click.option("--json", "as_json", is_flag=True, help="The difference as JSON.")
def diff(before: str, after: str, cluster: str | None, as_json: bool) -> int:
    """Compare A and B process by process: arguments, environment, masks, ports, gates, places.

    Each is a recipe (FILE[:VARIANT]), a saved plan (plan --format json > FILE.json) or the folder of a run. The
    addresses and folders of a run do not count. Exit status: 0 = equal, 1 = different, 2 or 3 = a fault, as of plan.
    """
    from inferlane.preparation import Request

    return show_difference(Request(before, cluster), after, as_json)


def show_difference(request: Request, other: str, as_json: bool) -> int:
    """Print how ``other``, planned with the same cluster file and no edits, differs from that of ``request``.

    Returns the exit status.
    """
    import msgspec

    from inferlane.cli.options import plugins_from_context
    from inferlane.comparison import difference, side_of
    from inferlane.errors import EXIT_FAILED, EXIT_OK
    from inferlane.planning import Shape, diff
    from inferlane.preparation import prepare
    from inferlane.values import Plan

    plugins = plugins_from_context()

    def planned(edited: Request) -> Plan:
        return prepare(edited, plugins).plan(Shape())

    def plain(reference: str) -> Plan:
        return planned(msgspec.structs.replace(request, recipe=reference, sets=(), unsets=()))

    found = difference(side_of(request.recipe, lambda _: planned(request)), side_of(other, plain))
    click.echo(diff.as_json(found) if as_json else diff.as_text(found, (request.recipe, other)))
    return EXIT_OK if found.equal else EXIT_FAILED
