"""A command group that imports a command only when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyCommand(NamedTuple):
    """``target`` is ``module:attribute``; ``help`` stands in listings, so that they import nothing."""

    target: str
    help: str


class LazyGroup(click.Group):
    """Lists and completes its commands from a table."""

    def __init__(self, *args: Any, table: Mapping[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one command."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in ``--help``."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands, then the group's own options."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(n, help=e.help) for n, e in self.table.items() if n.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown name gets the nearest known one."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], list(self.table), n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"commands: {', '.join(self.table)}"
            raise click.UsageError(f"no such command '{args[0]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)
