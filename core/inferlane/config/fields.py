"""The value types of recipes and cluster files, with messages that say how to write the value right."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}``."""

MOST_PLANNED = 65536
MOST_GPUS = 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIRECTIVE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_DURATION = re.compile(r"(?:\d+-\d{1,2}(?::[0-5]?\d(?::[0-5]?\d)?)?|\d+:[0-5]?\d:[0-5]?\d|\d+:[0-5]\d)")
_PORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\.[A-Za-z0-9][A-Za-z0-9_-]*")


class Block(BaseModel):
    """Base of every mapping in a recipe or cluster file."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, protected_namespaces=(), populate_by_name=True
    )


def quoted(value: Any) -> str:
    """How to write a number or switch so that it is text."""
    word = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return f'"{word}"'


def _text(value: Any) -> str:
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("may not hold NUL")
        return value
    if isinstance(value, bool | int | float):
        raise ValueError(f"must be text; write {quoted(value)}")
    raise ValueError("must be text")


def _optional_text(value: Any) -> str | None:
    return (_text(value) or None) if value is not None else None


def _one_line(value: str | None) -> str | None:
    if value is not None and any(ord(sign) < 32 or ord(sign) == 127 for sign in value):
        raise ValueError("may not hold line breaks or control characters")
    return value


def _interface(value: str | None) -> str | None:
    if value is not None and re.search(r"[\s/,]", value):
        raise ValueError("is not the name of a network interface; write one word, such as eth0")
    return value


def whole(value: Any) -> int:
    """A whole number; digits in quotes count, as an expanded variable leaves them."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _at_least(low: int) -> Any:
    def check(value: int) -> int:
        if value < low:
            raise ValueError(f"must be at least {low}")
        return value

    return AfterValidator(check)


def _at_most(high: int, why: str) -> Any:
    def check(value: int) -> int:
        if value > high:
            raise ValueError(f"must be at most {high}, {why}")
        return value

    return AfterValidator(check)


def _command(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return tuple(value)
    if isinstance(value, str):
        return value
    raise ValueError("must be text, or a list of texts")


def _switch(value: Any) -> bool:
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def empty_mapping(value: Any) -> Any:
    """A key that stands there with nothing behind it is an empty block."""
    return {} if value is None else value


def empty_list(value: Any) -> Any:
    return [] if value is None else value


def _run_name(value: Any) -> str:
    text = _text(value)
    if not _NAME.fullmatch(text) or ".." in text:
        raise ValueError("may hold letters, digits, '.', '_' and '-', starts with a letter or digit, has no '..' and at most 100 signs")  # fmt: skip  # noqa: E501
    return text


def variable_name(value: Any) -> str:
    text = _text(value)
    if not _VARIABLE.fullmatch(text):
        raise ValueError("is not a variable name; letters, digits and '_' only, no digit first")
    return text


def variable_value(value: Any) -> str | None:
    if isinstance(value, str) and "\0" in value:
        raise ValueError("may not hold NUL")
    return _text(value) if value is not None else None


def _directive(value: Any) -> str:
    text = _text(value)
    if not _DIRECTIVE.fullmatch(text):
        raise ValueError("is not an option name; letters, digits and '-' only, written without the leading dashes")
    return text


def _duration(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"[\d.]+", value)):
        raise ValueError("has no unit (a scheduler takes a bare number as minutes); write H:MM:SS, such as 1:30:00")
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise ValueError("is not a duration; write H:MM:SS, M:SS or D-HH:MM:SS")
    if not re.search("[1-9]", value):
        raise ValueError("is not a time limit (a scheduler takes it as none); write the time that the job needs")
    return value


def _mount(value: str) -> str:
    host, _, target = value.partition(":")
    if not host or not target or target.startswith(":"):
        raise ValueError("is not a mount; write host:container, or host:container:options")
    return value


def _port_name(value: Any) -> str:
    text = _text(value)
    if not _PORT_NAME.fullmatch(text):
        raise ValueError("is not a port name; write <type>.<port>, such as the ones that 'inferlane plan' shows")
    return text


def _port(value: Any) -> int:
    number = whole(value)
    if not 1024 <= number < 32768:
        raise ValueError("must be from 1024 to 32767, below the ports that the system hands out by itself")
    return number


Words = Annotated[str, BeforeValidator(_text)]
"""Text, as it is."""
OptionalScript = Annotated[str | None, BeforeValidator(_optional_text)]
"""Text of any number of lines; null and ``""`` are absent."""
OptionalText = Annotated[str | None, BeforeValidator(_optional_text), AfterValidator(_one_line)]
"""Text on one line; null and ``""`` are absent."""
Interface = Annotated[str | None, BeforeValidator(_optional_text), AfterValidator(_interface)]
Line = Annotated[str, BeforeValidator(_text), AfterValidator(_one_line)]
Mount = Annotated[str, BeforeValidator(_text), AfterValidator(_one_line), AfterValidator(_mount)]
Count = Annotated[int, BeforeValidator(whole), _at_least(1), _at_most(2**31 - 1, "the most that is counted")]
PlannedCount = Annotated[int, BeforeValidator(whole), _at_least(1), _at_most(MOST_PLANNED, "the most that is planned")]
"""How many nodes, workers or GPUs; a slip of the keyboard must not take a machine's memory."""
FirstPort = Annotated[
    int, BeforeValidator(whole), _at_least(1), _at_most(32767, "below the ports that the system hands out by itself")
]
GpusPerNode = Annotated[int, BeforeValidator(whole), _at_least(1), _at_most(MOST_GPUS, "the most of one node")]
CommandLine = Annotated[str | tuple[str, ...], BeforeValidator(_command)]
Switch = Annotated[bool, BeforeValidator(_switch)]
RunName = Annotated[str, BeforeValidator(_run_name)]
Variable = Annotated[str, BeforeValidator(variable_name)]
VariableValue = Annotated[str | None, BeforeValidator(variable_value)]
Duration = Annotated[str | None, BeforeValidator(_duration)]
Environment = Annotated[dict[Variable, VariableValue], BeforeValidator(empty_mapping)]
"""Variable name to text; null removes the variable."""
Options = Annotated[dict[Annotated[str, BeforeValidator(_directive)], Line], BeforeValidator(empty_mapping)]
"""Option name to text; ``""`` is an option without a value."""
Names = Annotated[dict[Words, Words], BeforeValidator(empty_mapping)]
Anything = Annotated[dict[str, Any], BeforeValidator(empty_mapping)]
PortBases = Annotated[
    dict[Annotated[str, BeforeValidator(_port_name)], Annotated[int, BeforeValidator(_port)]],
    BeforeValidator(empty_mapping),
]
Lines = Annotated[tuple[Line, ...], BeforeValidator(empty_list)]
