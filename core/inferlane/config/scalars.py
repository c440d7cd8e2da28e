"""What a plain YAML scalar means here. Quoted scalars are always text."""

from __future__ import annotations

import math
import re

from inferlane.config.nodes import Scalar

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SWITCHES = frozenset({"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMERIC_START = frozenset("+-.0123456789")


class ScalarError(ValueError):
    """A plain scalar that people read in two ways; the message says how to write it. It never holds the text itself."""


def resolve(text: str) -> Scalar:
    """The value of a plain scalar: null, bool, number, else text (times and dates too)."""
    if text in _WORDS:
        return _WORDS[text]
    if text in _SWITCHES:
        raise ScalarError("a plain yes, no, on or off is read as true or false by some and as text by others; "
                          "write true or false, or put it in quotes")  # fmt: skip
    if text[0] not in _NUMERIC_START:
        return text
    if _LEADING_ZERO.fullmatch(text):
        raise ScalarError("a number with a leading zero is read as octal by some and as text by others; "
                          "put it in quotes, or drop the zero")  # fmt: skip
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        value = float(text.replace("_", ""))
        if math.isinf(value):
            raise ScalarError("this reads as a number too large to hold; put it in quotes if it is text")
        return value
    return float(text.replace(".", "", 1)) if _SPECIAL.fullmatch(text) else text


def _integer(text: str) -> int:
    try:
        return int(text.replace("_", ""), 0)
    except ValueError as error:
        raise ScalarError("this reads as a number too long to hold; put it in quotes if it is text") from error
