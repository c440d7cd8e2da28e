"""Reading an argument list by a table, with every fault as a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from inferlane.flags.matching import Match, Matcher
from inferlane.values import Value

if TYPE_CHECKING:
    from inferlane.flags.table import Flag

FaultKind = Literal["unknown", "ambiguous", "value", "missing", "surplus", "duplicate"]


class FlagFault(Value, frozen=True, kw_only=True):
    """One fault of an argument list.

    ``flag``: as it was written. ``message``: one line that can stand alone. ``index``: its place in the arguments.
    ``candidates``: the flags it may have meant.
    """

    kind: FaultKind
    flag: str
    message: str
    index: int
    candidates: tuple[str, ...] = ()


class Use(Value, frozen=True, kw_only=True):
    """One use of a flag. ``name``: its usual spelling; ``spelling``: the one that was matched."""

    name: str
    spelling: str
    values: tuple[str, ...]
    index: int


class Parsed(Value, frozen=True, kw_only=True):
    """An argument list, read."""

    uses: tuple[Use, ...]
    positionals: tuple[str, ...]
    faults: tuple[FlagFault, ...]

    def values(self, name: str) -> tuple[str, ...] | None:
        """The values of the last use of the flag whose usual spelling is ``name``; ``None`` if it was not given."""
        return next((use.values for use in reversed(self.uses) if use.name == name), None)

    def value(self, name: str) -> str | None:
        """The first value of the last use, if there is one."""
        values = self.values(name)
        return values[0] if values else None


def parse(matcher: Matcher, args: Sequence[str]) -> Parsed:
    """Read ``args``; see :meth:`inferlane.flags.FlagTable.parse`."""
    end = args.index("--") if "--" in args else len(args)
    words = [(word, matcher.match(word)) for word in args[:end]]
    uses: list[Use] = []
    faults: list[FlagFault] = []
    loose: list[tuple[int, str]] = []
    at = 0
    while at < end:
        word, match = words[at]
        if match is None:
            loose.append((at, word))
            at += 1
            continue
        values = _following(words, at + 1)
        if match.flag is None:
            faults.append(_not_found(matcher, match, at))
            taken = len(values)  # they belong to the flag that was meant, so they are no fault of their own
        else:
            use, taken, found = _take(match, match.flag, values, at)
            faults += found
            faults += _twice(match.flag, use, uses, match.dotted)
            uses.append(use)
        at += 1 + taken
    loose += [(end + 1 + i, word) for i, word in enumerate(args[end + 1 :])]
    surplus = [_surplus(i, word) for i, word in loose[matcher.file.positionals :]]
    return Parsed(
        uses=tuple(uses),
        positionals=tuple(word for _, word in loose),
        faults=tuple(sorted(faults + surplus, key=lambda fault: fault.index)),
    )


def _following(words: Sequence[tuple[str, Match | None]], start: int) -> tuple[str, ...]:
    found = []
    for word, match in words[start:]:
        if match is not None:
            break
        found.append(word)
    return tuple(found)


def _take(match: Match, flag: Flag, values: tuple[str, ...], at: int) -> tuple[Use, int, list[FlagFault]]:
    """The use, how many of ``values`` it took, and its faults."""
    least, most = (1, 1) if match.dotted else flag.bounds
    taken = len(values) if most is None else min(most, len(values))
    given = values[:taken]
    if match.explicit is not None:
        taken, given = 0, (match.explicit,)
    use = Use(name=flag.names[0], spelling=match.spelling, values=given, index=at)
    if match.explicit is not None and most == 0:
        message = f"{match.spelling} takes no value, but has '{match.explicit}'"
        return use, taken, [FlagFault(kind="surplus", flag=match.spelling, message=message, index=at)]
    if len(given) < least:
        message = f"{match.spelling} needs {_count(least, most)}, but has {len(given) or 'none'}"
        return use, taken, [FlagFault(kind="missing", flag=match.spelling, message=message, index=at)]
    if match.dotted:
        return use, taken, []
    wrong = [text for value in given if (text := _wrong(flag, value))]
    return (
        use,
        taken,
        [FlagFault(kind="value", flag=match.spelling, message=f"{match.spelling}: {text}", index=at) for text in wrong],
    )


def _count(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} value{'s' * (least > 1)}"
    return "a value" if (least, most) == (1, 1) else f"{least} values" if least == most else f"{least} to {most} values"


def _wrong(flag: Flag, value: str) -> str | None:
    kind = {"int": "a whole number", "float": "a number", "json": "JSON"}.get(flag.type, "")
    try:
        if flag.type == "int":
            value = str(int(value))
        elif flag.type == "float":
            float(value)
        elif flag.type == "json":
            json.loads(value)
    except ValueError:
        return f"'{value}' is not {kind}"
    if flag.choices and value not in flag.choices:
        return f"'{value}' is not one of {', '.join(flag.choices)}"
    return None


def _twice(flag: Flag, use: Use, before: Sequence[Use], dotted: bool) -> list[FlagFault]:
    if flag.repeatable or dotted:
        return []
    first = next((old for old in before if old.name == use.name), None)
    if first is None:
        return []
    same = use.spelling if first.spelling == use.spelling else f"{use.spelling} (and {first.spelling})"
    message = f"{same} is given twice: {_shown(first)}, then {_shown(use)}; give it once"
    return [FlagFault(kind="duplicate", flag=use.spelling, message=message, index=use.index)]


def _shown(use: Use) -> str:
    return f"'{' '.join((use.spelling, *use.values))}'"


def _not_found(matcher: Matcher, match: Match, at: int) -> FlagFault:
    name, candidates = match.spelling, match.candidates
    if candidates:
        message = f"{name} is ambiguous: it could be {', '.join(candidates)}"
        return FlagFault(kind="ambiguous", flag=name, message=message, index=at, candidates=candidates)
    like = matcher.like(name)
    hint = f"; did you mean {' or '.join(like)}?" if like else ""
    message = f"{name} is not a flag of {matcher.file.program} {matcher.file.version}{hint}"
    return FlagFault(kind="unknown", flag=name, message=message, index=at, candidates=like)


def _surplus(at: int, word: str) -> FlagFault:
    return FlagFault(kind="surplus", flag=word, message=f"'{word}' belongs to no flag", index=at)
