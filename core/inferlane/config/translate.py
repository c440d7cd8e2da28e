"""pydantic's faults in a user's words: what is wrong with the value, what is allowed, what was probably meant."""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from typing_extensions import is_typeddict

from inferlane.config.fields import quoted
from inferlane.config.paths import Path, join
from inferlane.config.secrets import MASK, is_secret, shown
from inferlane.errors import Refused
from inferlane.values import Problem

T = TypeVar("T")


class Complaint(NamedTuple):
    """``about_key``: the key is wrong, not the value behind it."""

    path: Path
    message: str
    about_key: bool = False


def complaints(
    error: ValidationError, block: Any, model: Any = None, extra: Mapping[str, Any] | None = None
) -> list[Complaint]:
    """Every fault of ``error``, one per path. ``block``: what was validated. ``model``: the class, for suggestions.
    ``extra``: further keys that are known, by the dotted path of their mapping.
    """
    found: dict[Path, tuple[list[str], bool]] = {}
    for item in error.errors(include_url=False):
        path, about_key = _path(item["loc"], block, item["type"] == "missing")
        unknown = item["type"] in ("extra_forbidden", "unexpected_keyword_argument")
        message = unknown_key(path, model, extra or {}) if unknown else _message(item, path)
        messages, _ = found.setdefault(path, ([], about_key or unknown))
        if message not in messages:
            messages.append(message)
    return [Complaint(path, ", or ".join(messages), key) for path, (messages, key) in found.items()]


def parse_block(parse: Callable[[Mapping[str, Any]], T], block: Mapping[str, Any], path: str, model: Any = None) -> T:
    """``parse(block)``, with pydantic's faults turned into problems below ``path``. Raises :class:`Refused`.

    ``model``: the class that ``parse`` validates with, for suggestions; found by itself for the ``parse`` method of a
    plugin's facade.
    """
    try:
        return parse(block)
    except ValidationError as error:
        model = model or getattr(getattr(getattr(parse, "__self__", None), "spec", None), "config", None)
        raise Refused(
            Problem(where=".".join(filter(None, (path, join(found.path)))), message=found.message)
            for found in complaints(error, block, model)
        ) from error


# ---- paths ----------------------------------------------------------------------------------------------------------


def _path(loc: tuple[int | str, ...], block: Any, missing: bool) -> tuple[Path, bool]:
    """The part of ``loc`` that a user's document has; names of union branches are left out."""
    path: list[int | str] = []
    for at, part in enumerate(loc):
        items = block if isinstance(block, list | tuple) else ()
        inside: Any = block if isinstance(block, Mapping) else dict(enumerate(items))
        if part in inside:
            block = inside[part]
        elif not (missing and at == len(loc) - 1):
            continue
        path.append(part)
    return tuple(path), loc[-1:] == ("[key]",)


# ---- known keys -----------------------------------------------------------------------------------------------------


def _unwrapped(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _unwrapped(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _unwrapped(part)
    else:
        yield annotation


def _fields(model: Any) -> dict[str, Any]:
    """Key as a user writes it to annotation."""
    if is_typeddict(model):
        return get_type_hints(model)
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        choices = getattr(info.validation_alias, "choices", None) or [info.validation_alias or info.alias or name]
        fields.update({choice: info.annotation for choice in choices if isinstance(choice, str)})
    return fields


def _below(model: Any, part: int | str) -> Iterator[Any]:
    for candidate in _unwrapped(model):
        origin = get_origin(candidate)
        if is_typeddict(candidate) or (isinstance(candidate, type) and issubclass(candidate, BaseModel)):
            if part in (fields := _fields(candidate)):
                yield fields[str(part)]
        elif origin is dict and isinstance(part, str):
            yield get_args(candidate)[1]
        elif origin in (list, tuple) and isinstance(part, int):
            yield get_args(candidate)[0]


def known_keys(model: Any, path: Path) -> list[str]:
    """The keys that ``model`` takes in the mapping at ``path``; empty if that cannot be told."""
    places = [model]
    for part in path:
        places = [below for place in places for below in _below(place, part)]
    keys: list[str] = []
    for place in places:
        for candidate in _unwrapped(place):
            if is_typeddict(candidate) or (isinstance(candidate, type) and issubclass(candidate, BaseModel)):
                keys += _fields(candidate)
    return list(dict.fromkeys(keys))


def closest(word: str, known: list[str]) -> str | None:
    """The known key that ``word`` was probably meant to be; a missing ``default_`` is forgiven."""
    bare = {name.removeprefix("default_"): name for name in known}
    close = difflib.get_close_matches(word.removeprefix("default_"), list(bare), 1, 0.7)
    return bare[close[0]] if close else None


def unknown_key(path: Path, model: Any, extra: Mapping[str, Any]) -> str:
    """What is said of a key at ``path`` that ``model`` does not take."""
    parent = path[:-1]
    known = known_keys(model, parent) if model is not None else []
    close = closest(str(path[-1]), [*known, *extra.get(join(parent), ())])
    if close:
        return f"unknown key; did you mean '{close}'?"
    if not known:
        return "unknown key"
    if len(known) <= 16:
        return f"unknown key; known here: {', '.join(sorted(known))}"
    return "unknown key"


# ---- messages -------------------------------------------------------------------------------------------------------

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "dict": "a mapping (name: value lines)",
    "mapping": "a mapping (name: value lines)",
    "model": "a mapping (name: value lines)",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "none": "null",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _message(item: Any, path: Path) -> str:
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    got = shown(path, value)
    if kind == "missing":
        return "missing; the block needs this key"
    if kind == "value_error":
        return worded(str(context["error"]), path, value, got)
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {context[name]}, not {got}"
    if kind in ("literal_error", "enum"):
        return f"must be {context['expected']}, not {got}"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return worded(f"must be text; write {quoted(value)}", path, value, got)
    family = _KINDS.get(kind.partition("_")[0])
    if family and kind.endswith(("_type", "_parsing", "_from_float")):
        return f"must be {family}, not {got}"
    if kind == "finite_number":
        return f"must be a finite number, not {got}"
    text = str(item["msg"])
    known = got in text or isinstance(value, dict | list | tuple)
    return f"{text[:1].lower()}{text[1:]}" + ("" if known else f" (it is {got})")


def worded(message: str, path: Path, value: Any, got: str) -> str:
    """A message of our own validators, with the value where it helps and never where it is secret."""
    if any(isinstance(part, str) and is_secret(part) for part in path):
        scalar = isinstance(value, bool | int | float)
        return message.replace(quoted(value), f'"{MASK}"') if scalar else message
    if isinstance(value, dict | list | tuple) or '; write "' in message:
        return message if "write" in message else f"{message}, not {got}"
    return f"{got} {message}" if message.startswith(("is not", "has no", "may ")) else f"{message}, not {got}"
