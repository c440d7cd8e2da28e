"""``inferlane schema``: JSON Schema of recipe and cluster file, for editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from inferlane.plugins import Kind, Owner, Plugins


@click.command()
@click.argument("kind", type=click.Choice(["recipe", "cluster"]), default="recipe")
@click.option("--output", metavar="FILE", help="Write it there; default: standard output.")
def schema(kind: str, output: str | None) -> None:
    """Print the JSON Schema of recipes, or of cluster files.

    A recipe's blocks are those of every plugin that is installed. The schema is for editors: check finds more.
    """
    import json
    from pathlib import Path

    from inferlane.cli.options import plugins_from_context
    from inferlane.config.schema import cluster_schema, recipe_schema
    from inferlane.errors import UsageFault

    made = cluster_schema() if kind == "cluster" else recipe_schema(_models(plugins_from_context()))
    text = json.dumps(made, indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
        return
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageFault(f"{output}: cannot be written: {error.strerror}; name another file") from error


def _models(plugins: Plugins) -> dict[str, dict[str, type[BaseModel] | None]]:
    """The block of each installed type. One that is broken hurts no other: it is told, and anything goes there, as in
    the block of a known type whose plugin is not installed.
    """
    from inferlane.errors import PluginFault
    from inferlane.plugins.first_party import first_party_table, first_party_types

    table = first_party_table()
    found: dict[str, dict[str, type[BaseModel] | None]] = {}
    owners: dict[Kind, Callable[[str], Owner]] = {
        "engine": plugins.engine,
        "router": plugins.router,
        "service": plugins.service,
        "benchmark": plugins.benchmark,
    }
    for kind, owner in owners.items():
        found[kind] = dict.fromkeys(first_party_types(kind, table))
        for name in plugins.installed(kind):
            try:
                found[kind][name] = owner(name).spec.config
            except PluginFault as fault:
                found[kind][name] = None
                click.echo(f"warning: {fault}", err=True)
    return found
