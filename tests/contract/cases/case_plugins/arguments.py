"""Reading a recipe's arguments, where ``tp-size`` and ``tp_size`` are the same name."""

from __future__ import annotations

from typing import Any

from inferlane.api import Args


def argument(args: Args, *names: str, default: Any = None) -> Any:
    """The first of ``names`` that the recipe sets."""
    plain = {key.replace("_", "-"): value for key, value in args.items()}
    return next((plain[name] for name in names if name in plain), default)


def count(args: Args, *names: str) -> int:
    """A parallel size; 1 where the recipe says nothing."""
    return int(argument(args, *names, default=1))
