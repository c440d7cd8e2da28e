"""Which variants are meant: ``file.yaml``, ``file.yaml:override_x``, ``file.yaml:zip_override_g[2]``, with globs."""

from __future__ import annotations

import difflib
import fnmatch
import re

from inferlane.config.faults import refuse
from inferlane.config.variants import BASE, OVERRIDE, ZIP, Document, Variant
from inferlane.errors import UsageFault

_INDEXED = re.compile(r"(.*)\[(\d+)\]")
_LISTED = 8


def choose(found: Document, selector: str | None) -> tuple[Variant, ...]:
    """The variants that ``selector`` names, in the file's order; without one all of them, and the base only where it
    stands alone. Raises ``UsageFault`` if there is none.
    """
    if found.base is None:
        if selector is not None and found.variants:
            raise UsageFault(f"{found.file} has no variants, so ':{selector}' selects nothing; leave it out")
        return found.variants
    if selector is None:
        return found.variants or (found.base,)
    if selector == BASE:
        return (found.base,)
    if "*" in selector or "?" in selector:
        pattern = re.compile(fnmatch.translate(selector.replace("[", "[[]")))
        chosen = [v for v in found.variants if pattern.match(v.name) or pattern.match(_group(v.name))]
        words = f"no variant of {found.file} matches '{selector}'. "
    else:
        chosen = [v for v in found.variants if selector in (v.name, _group(v.name))]
        words = "" if chosen else _no_such(found, selector)
    if not chosen and not found.faults:
        raise UsageFault(f"{words}It has: {listing(found)}")
    return tuple(chosen)


def choose_one(found: Document, selector: str | None) -> Variant | None:
    """The one variant that is meant; ``None`` only where none could be put together. Raises ``UsageFault``."""
    chosen = choose(found, selector)
    if len(chosen) > 1:
        if selector is None:
            refuse(found.file, f"the file holds {len(chosen)} variants; add one of these to its name: {listing(found)}")
        names = _listed([f":{variant.name}" for variant in chosen])
        raise UsageFault(f"{found.file}:{selector} selects {len(chosen)} variants; name one: {names}")
    return chosen[0] if chosen else None


def listing(found: Document) -> str:
    """Every selector of a file, long groups shortened."""
    groups: dict[str, list[str]] = {}
    for variant in found.variants:
        groups.setdefault(_group(variant.name), []).append(f":{variant.name}")
    return ", ".join([f":{BASE}", *(_listed(names) for names in groups.values())])


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _LISTED else f"{names[0]}, {names[1]} … {names[-1]}"


def _group(name: str) -> str:
    match = _INDEXED.fullmatch(name)
    return match[1] if match else name


def _no_such(found: Document, selector: str) -> str:
    names = [variant.name for variant in found.variants]
    groups = list(dict.fromkeys(map(_group, names)))
    group = _group(selector)
    if group in groups and group != selector:
        size = sum(_group(name) == group for name in names)
        if group in names:
            return f"{found.file}:{group} is one variant and has no positions; leave out '{selector[len(group) :]}'. "
        return f"{found.file}:{group} has {size} variants, [0] to [{size - 1}], and no '{selector[len(group) :]}'. "
    close = [name for name in (OVERRIDE + selector, ZIP + selector) if name in (*names, *groups)]
    close += difflib.get_close_matches(selector, [BASE, *groups, *names], 1, 0.6)
    return f"{found.file} has no variant '{selector}'" + (f"; did you mean '{close[0]}'? " if close else ". ")
