"""``inferlane plugins``: what is installed, what one type is, and the hook reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inferlane.cli.options import plugins_from_context

if TYPE_CHECKING:
    from inferlane.plugins import Owner
    from inferlane.plugins.states import Entry

_KINDS = ("engine", "router", "accelerator", "service", "benchmark", "launcher")


@click.group()
def plugins() -> None:
    """List and describe plugins and hooks."""


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def list_plugins(as_json: bool) -> None:
    """List every type that an installed distribution claims. Imports no plugin, so it works with broken ones."""
    installed = plugins_from_context()
    rows = [_row(entry) for entry in installed.entries()]
    for line in installed.unreadable():
        click.echo(f"warning: {line}", err=True)
    if as_json:
        import json

        click.echo(json.dumps(rows, indent=2))
        return
    columns = ("kind", "type", "distribution", "version", "target", "state")
    table = [columns, *(tuple(row[column] for column in columns) for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(columns))]
    reasons = ["", *(f" ({row['reason']})" if row["reason"] else "" for row in rows)]
    for cells, reason in zip(table, reasons, strict=True):
        text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        click.echo(text.rstrip() + reason)


def _row(entry: Entry) -> dict[str, str]:
    candidate = entry.candidate
    return {
        "kind": candidate.kind,
        "type": candidate.type,
        "distribution": candidate.distribution,
        "version": candidate.version,
        "target": candidate.target,
        "folder": candidate.folder,
        "state": entry.state,
        "reason": entry.reason,
    }


@plugins.command()
@click.argument("kind", type=click.Choice(_KINDS))
@click.argument("type")
def show(kind: Any, type: str) -> None:
    """Describe one type: its settings, hooks and arguments. Loads that plugin."""
    owner = plugins_from_context().owner(kind, type)
    click.echo(f"{owner.kind} {owner.type}: {owner.spec.summary}")
    click.echo(f"from {owner.distribution} {owner.version}, {owner.target}")
    for title, lines in _sections(owner):
        click.echo(f"\n{title}:")
        for line in lines:
            click.echo(f"  {line}")


def _sections(owner: Owner) -> list[tuple[str, list[str]]]:
    """Titles and lines; sections that do not apply are left out."""
    spec = owner.spec
    fields = [_field(name, field) for name, field in spec.config.model_fields.items() if name != "type"]
    accepts = [
        f"{accept.protocol}: {' or '.join('+'.join(roles) for roles in accept.roles)}"
        for accept in getattr(spec, "accepts", ())
    ]
    sections = [
        ("settings", fields),
        ("speaks", list(getattr(spec, "speaks", ()))),
        ("accepts", accepts),
        ("arguments that the plan sets", [f"{name}: {advice}" for name, advice in spec.owned_args.items()]),
        ("hooks", list(owner.implemented())),
        ("program", [spec.install] if spec.install else []),
    ]
    return [(title, lines) for title, lines in sections if lines]


def _field(name: str, field: Any) -> str:
    from inferlane.plugins.reference import type_text

    kind = type_text(field.annotation)
    default = "required" if field.is_required() else f"default {field.get_default(call_default_factory=True)!r}"
    description = f": {field.description}" if field.description else ""
    return f"{field.alias or name} ({kind}, {default}){description}"


@plugins.command()
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare with FILE instead; exit 1 if it is stale.",
)
def hooks(checked: Path | None) -> None:
    """Print the reference of all hooks as Markdown."""
    from inferlane.errors import RunFault
    from inferlane.plugins.reference import hook_reference

    text = hook_reference()
    if checked is None:
        click.echo(text, nl=False)
    elif checked.read_text(encoding="utf-8") != text:
        raise RunFault(f"{checked} is stale; write it anew: inferlane plugins hooks > {checked}")
