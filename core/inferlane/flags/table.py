"""The table: which flags a program has in one version, and how many values of which type each takes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Literal

import msgspec

from inferlane.errors import PluginFault
from inferlane.flags.matching import Matcher
from inferlane.flags.parsing import FlagFault, Parsed, parse
from inferlane.values import Value


class Flag(Value, frozen=True, kw_only=True):
    """One flag. ``names``: its spellings, the usual one first. ``aliases``: accepted, but not suggested.

    ``nargs``: how many values: a number, ``?``, ``*``, ``+`` or a range such as ``1-2``. ``type``: what each value must
    read as; ``choices``: the allowed values, as text. ``repeatable``: may be given more than once, each time adding.
    """

    names: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    nargs: int | str = 1
    type: Literal["str", "int", "float", "json"] = "str"
    choices: tuple[str, ...] = ()
    repeatable: bool = False

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the most number of values; ``None`` = any."""
        if isinstance(self.nargs, int):
            return self.nargs, self.nargs
        if self.nargs in _OPEN:
            return _OPEN[self.nargs]
        least, _, most = self.nargs.partition("-")
        return int(least), int(most)


_OPEN: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class TableFile(Value, frozen=True, kw_only=True):
    """The file form of a table.

    ``package``: the distribution that holds the program, as recipes name it in ``identity.frameworks``. ``version``:
    of the program. ``allow_abbrev``: a unique prefix of a long flag stands for it. ``underscores``: ``_``
    and ``-`` are equal in flag names. ``dotted``: ``--flag.key value`` sets one key of a JSON flag. ``positionals``:
    how many arguments may stand without a flag.
    """

    program: str
    version: str
    flags: tuple[Flag, ...]
    package: str = ""
    allow_abbrev: bool = False
    underscores: bool = False
    dotted: bool = False
    positionals: int = 0


class FlagTable:
    """A table, ready to check argument lists. Pure: the same arguments always get the same answer."""

    def __init__(self, file: TableFile) -> None:
        self.file = file
        self._matcher = Matcher(file)

    @property
    def version(self) -> str:
        """The version of the program that the table was taken from."""
        return self.file.version

    def usual(self, flag: str) -> str | None:
        """The usual spelling of the one flag that ``flag`` (another name, or an abbreviation) means; else ``None``."""
        match = self._matcher.match(flag)
        return match.flag.names[0] if match is not None and match.flag is not None else None

    def parse(self, args: Sequence[str]) -> Parsed:
        """Read ``args`` (without the program) the way argparse does, collecting every fault instead of stopping."""
        return parse(self._matcher, args)

    def check(self, args: Sequence[str]) -> tuple[FlagFault, ...]:
        """The faults of ``args``, in the order they stand there; empty if the program would accept them."""
        return self.parse(args).faults


def load_flag_table(resource: str) -> FlagTable:
    """Read the table at ``package:path``. Raises ``PluginFault`` if it is missing or not a table."""
    package, _, path = resource.partition(":")
    try:
        text = resources.files(package).joinpath(path).read_bytes()
    except (ModuleNotFoundError, OSError, TypeError, ValueError) as error:
        raise PluginFault(f"flag table {resource}: can not be read ({error}); reinstall the package") from error
    try:
        return FlagTable(msgspec.json.decode(text, type=TableFile))
    except msgspec.MsgspecError as error:
        raise PluginFault(f"flag table {resource}: not a flag table ({error}); see tools/flag_table.py") from error
