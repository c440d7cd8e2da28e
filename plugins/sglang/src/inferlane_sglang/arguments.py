"""Reading SGLang's arguments as recipes spell them."""

from __future__ import annotations

from typing import Any

from inferlane.api import Args

TENSOR = ("tp-size", "tensor-parallel-size", "tp")
DATA = ("dp-size", "data-parallel-size", "dp")
PIPELINE = ("pp-size", "pipeline-parallel-size", "pp")


def argument(args: Args, *names: str, default: Any = None) -> Any:
    """The first of ``names`` that the recipe sets, dashes and underscores being the same; else ``default``."""
    plain = {key.replace("_", "-"): value for key, value in args.items()}
    return next((plain[name] for name in names if plain.get(name) is not None), default)


def size(args: Args, names: tuple[str, ...]) -> int | None:
    """A parallel size; ``None`` = not stated, 0 = not a positive whole number."""
    value = argument(args, *names)
    if value is None:
        return None
    text = str(value)
    return int(text) if text.isdigit() else 0
