"""What ends a command: each error knows its exit code and prints as one line per fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inferlane.values import Problem

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_PLUGIN = 3
EXIT_NOT_READY = 4
EXIT_UNKNOWN = 5
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class InferlaneError(Exception):
    """Anything a user can act on. ``str()`` is what is printed; no traceback is shown without ``--debug``."""

    exit_code = EXIT_FAILED


class UsageFault(InferlaneError):  # noqa: N818 - the project's word for what a user can mend
    """The command line, recipe or cluster file is wrong."""

    exit_code = EXIT_USAGE


class PluginFault(InferlaneError):  # noqa: N818 - the project's word for what a user can mend
    """A plugin that is needed is missing, broken or refused."""

    exit_code = EXIT_PLUGIN


class RunFault(InferlaneError):  # noqa: N818 - the project's word for what a user can mend
    """The run could not be started or did not succeed."""

    exit_code = EXIT_FAILED


class Refused(UsageFault):
    """A recipe cannot become a plan; holds every problem found, errors and warnings alike."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{p.where}: {p.message}" if p.where else p.message for p in self.problems))
