"""The command ``inferlane``: global options, the table of commands, and how errors end them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from inferlane import __version__
from inferlane.cli.documents import print_failure, wanted
from inferlane.cli.lazy import LazyCommand, LazyGroup
from inferlane.cli.streams import forgive, open_closed
from inferlane.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK

COMMANDS = {
    "run": LazyCommand("inferlane.cli.run:run", "Start what a recipe says and follow it to its end."),
    "rehearse": LazyCommand(
        "inferlane.cli.rehearse:rehearse", "Run a recipe for real, with twins in place of engines."
    ),
    "plan": LazyCommand("inferlane.cli.plan:plan", "Show every process, port and variable of a recipe."),
    "diff": LazyCommand("inferlane.cli.diff:diff", "Show what differs between two recipes, plans or runs."),
    "check": LazyCommand("inferlane.cli.check:check", "Check a recipe and a cluster file without running anything."),
    "status": LazyCommand("inferlane.cli.status:status", "Show runs, or the state of one."),
    "logs": LazyCommand("inferlane.cli.logs:logs", "Show the logs of a run."),
    "wait": LazyCommand("inferlane.cli.wait:wait", "Follow a run or a job to its true end."),
    "cancel": LazyCommand("inferlane.cli.cancel:cancel", "Stop a run."),
    "plugins": LazyCommand("inferlane.cli.plugins:plugins", "List and describe plugins and hooks."),
    "schema": LazyCommand("inferlane.cli.schema:schema", "Print the JSON Schema of recipes or cluster files."),
    "doctor": LazyCommand("inferlane.cli.doctor:doctor", "Load every plugin and report what is wrong."),
}

# Otherwise the library of the models reads the metadata of everything installed, and imports what it finds there.
_NO_STRANGERS = ("PYDANTIC_DISABLE_PLUGINS", "__all__")


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--disable", metavar="NAME", multiple=True, help="Leave out a plugin, by type or distribution. May be repeated."
)
@click.option("--no-plugins", is_flag=True, help="Leave out every plugin that is not built in.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(__version__, prog_name="inferlane")
def cli(disable: tuple[str, ...], no_plugins: bool, debug: bool) -> None:
    """Launch distributed LLM inference from one recipe."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status. Errors are printed here, one line per fault, and nowhere else."""
    arguments = list(sys.argv[1:] if args is None else args)
    as_json = wanted(arguments)
    try:
        _take_interrupts()
        open_closed(as_json)
        os.environ.setdefault(*_NO_STRANGERS)
        status = cli.main(arguments, prog_name="inferlane", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else EXIT_OK
    except click.ClickException as error:
        error.show()
        if as_json:
            print_failure("refused", error.exit_code, error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(as_json)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the last stop: a user gets one line, never a traceback
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came while a class was made
            return _interrupted(as_json)
        from inferlane.cli.faults import tell

        return tell(error, "--debug" in arguments, as_json)


def _interrupted(as_json: bool) -> int:
    click.echo("interrupted", err=True)
    if as_json:
        print_failure("interrupted", EXIT_INTERRUPTED, "stopped by SIGINT")
    return EXIT_INTERRUPTED


def _take_interrupts() -> None:
    """From here on Ctrl-C is an exception again: the handler of the first moments has done its part."""
    if getattr(signal.getsignal(signal.SIGINT), "__name__", "") == "early_interrupt":
        signal.signal(signal.SIGINT, signal.default_int_handler)


def program() -> NoReturn:
    """``main``, then out at once. Taking the interpreter apart after pydantic costs a fifth of a
    short command, and there is nothing left to end: processes and files are closed by those who opened them.
    """
    try:
        open_closed(wanted(sys.argv))
        forgive()
        status = main()
    except KeyboardInterrupt:  # at the very end: what there was to say is said
        status = EXIT_INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    program()
