"""Reading SGLang's arguments as recipes spell them."""

from __future__ import annotations

from typing import Any

from inferlane.api import Args

TENSOR = ("tp-size", "tensor-parallel-size", "tp")
DATA = ("dp-size", "data-parallel-size", "dp")
EXPERT = ("ep-size", "expert-parallel-size", "ep")
PIPELINE = ("pp-size", "pipeline-parallel-size", "pp")


def argument(args: Args, *names: str, default: Any = None) -> Any:
    """The first of ``names`` that the recipe sets, in any spelling of its dashes; else ``default``."""
    plain = {_plain(key): value for key, value in args.items()}
    return next((plain[name] for name in names if plain.get(name) is not None), default)


def key_of(args: Args, *names: str) -> str | None:
    """The key of the first of ``names`` that the recipe sets, as it is spelled there."""
    spelled = {_plain(key): key for key, value in args.items() if value is not None}
    return next((spelled[name] for name in names if name in spelled), None)


def _plain(key: str) -> str:
    return key.lstrip("-").replace("_", "-")


def size(args: Args, names: tuple[str, ...]) -> int | None:
    """A parallel size; ``None`` = not stated, 0 = not a positive whole number."""
    value = argument(args, *names)
    if value is None:
        return None
    text = str(value)
    return int(text) if text.isdigit() else 0
