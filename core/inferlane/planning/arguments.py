"""A recipe's arguments as flags, and the refusal of those that the plan owns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from inferlane.values import ArgStyle, Command, Problem


def flag_name(text: str) -> str:
    """One spelling for comparison: ``--tp_size=8``, ``tp-size`` and ``tp_size`` are the same argument."""
    return text.lstrip("-").split("=", 1)[0].replace("_", "-")


def flag_of(key: str, style: ArgStyle) -> str:
    """A recipe's key as the flag it becomes; leading dashes in the key make no difference."""
    name = key.lstrip("-")
    return "--" + (name.replace("_", "-") if style.dashes else name)


def render(args: Mapping[str, Any], style: ArgStyle) -> list[str]:
    """Flags in the style of the program: true is a bare flag; false and null leave it out; a mapping is JSON."""
    out: list[str] = []
    for key, value in sorted(args.items()) if style.sort else args.items():
        flag = flag_of(key, style)
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, list | tuple):
            items = [_word(item) for item in value]
            out += [flag, *items] if style.lists == "once" else [word for item in items for word in (flag, item)]
        else:
            out += [flag, _word(value)]
    return out


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return msgspec.json.encode(value).decode() if isinstance(value, Mapping | list | tuple) else str(value)


def full_arguments(
    command: Command,
    style: ArgStyle,
    owned: Mapping[str, str],
    user: Mapping[str, Any],
    where: str,
    problems: list[Problem],
    usual: Callable[[str], str] = flag_name,
) -> tuple[str, ...]:
    """The plan's own arguments, then the recipe's. A recipe argument that the plan emits too, or that the plugin lists
    as owned, is a problem naming both. ``usual``: any spelling of an argument to the one it is compared by.
    """
    emitted = {usual(name) for name in _emitted(command.args)}
    listed = {usual(key): advice for key, advice in owned.items()}
    everything = "*" in command.consumed
    consumed = {flag_name(key) for key in command.consumed}
    keep: dict[str, Any] = {}
    seen: dict[str, str] = {}
    for key, value in user.items():
        name = usual(key)
        if name in seen:
            problems.append(Problem(where=f"{where}.{key}", message=f"the same argument as '{seen[name]}'; keep one"))
        seen[name] = key
        if everything or flag_name(key) in consumed:
            continue
        if value is not None and (name in listed or name in emitted):
            advice = listed.get(name, "remove it here")
            problems.append(Problem(where=f"{where}.{key}", message=f"the plan sets --{name} itself; {advice}"))
            continue
        keep[key] = value
    return (*command.args, *render(keep, style))


def _emitted(args: Iterable[str]) -> set[str]:
    return {flag_name(arg) for arg in args if arg.startswith("-") and not arg[1:2].isdigit()}
