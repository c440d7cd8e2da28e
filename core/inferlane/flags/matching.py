"""Which flag a word on the command line means, by argparse's rules (exact, ``--flag=value``, abbreviation)."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from inferlane.flags.table import Flag, TableFile

_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")


class Match(NamedTuple):
    """A word read as a flag. ``flag`` is ``None`` if it is unknown or, with several ``candidates``, ambiguous."""

    spelling: str
    flag: Flag | None
    explicit: str | None = None
    candidates: tuple[str, ...] = ()
    dotted: bool = False


class Matcher:
    """Finds flags by spelling."""

    def __init__(self, file: TableFile) -> None:
        self.file = file
        self._by_name = {name: flag for flag in file.flags for name in (*flag.names, *flag.aliases)}
        self._shown = tuple(name for flag in file.flags for name in flag.names)
        self._negative_flags = any(_NEGATIVE.match(name) for name in self._by_name)
        self._known: dict[str, Match | None] = {}

    def match(self, word: str) -> Match | None:
        """The flag that ``word`` means; ``None`` if it is a value."""
        if not word.startswith("-") or word == "-":
            return None
        if word not in self._known:  # the workers of a run say the same flags over and over
            self._known[word] = self._match(word)
        return self._known[word]

    def _match(self, word: str) -> Match | None:
        if word in self._by_name:
            return Match(word, self._by_name[word])
        name, explicit = self._split(word)
        if name in self._by_name:
            return Match(name, self._by_name[name], explicit)
        if self.file.dotted and (found := self._by_name.get(name.partition(".")[0])):
            return Match(name, found, explicit, dotted=True)
        if found_all := self._abbreviated(name, explicit):
            return found_all[0] if len(found_all) == 1 else Match(name, None, explicit, _spellings(found_all))
        if _NEGATIVE.match(word) and not self._negative_flags:
            return None
        return None if " " in word else Match(name, None, explicit)

    def like(self, name: str) -> tuple[str, ...]:
        """Spellings that ``name`` was probably meant to be, the likeliest first."""
        return tuple(difflib.get_close_matches(name, self._shown, n=3, cutoff=0.75))

    def _split(self, word: str) -> tuple[str, str | None]:
        name, equals, value = word.partition("=")
        if self.file.underscores and name.startswith("--"):
            name = "--" + name[2:].replace("_", "-")
        return name, value if equals else None

    def _abbreviated(self, name: str, explicit: str | None) -> tuple[Match, ...]:
        if name.startswith("--"):
            if not self.file.allow_abbrev:
                return ()
            return tuple(Match(full, flag, explicit) for full, flag in self._by_name.items() if full.startswith(name))
        short = self._by_name.get(name[:2])  # -O3 is -O with the value 3
        if short is not None:
            rest = name[2:] + ("" if explicit is None else f"={explicit}")
            return (Match(name[:2], short, rest),)
        if not self.file.allow_abbrev:
            return ()
        return tuple(Match(full, flag, explicit) for full, flag in self._by_name.items() if full.startswith(name))


def _spellings(matches: tuple[Match, ...]) -> tuple[str, ...]:
    return tuple(match.spelling for match in matches)
