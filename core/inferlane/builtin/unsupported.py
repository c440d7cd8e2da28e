"""Keys of existing recipes that would change what runs and are not acted on: refused by name, never ignored."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError


def _refuse(_value: object) -> None:
    raise PydanticCustomError("not_supported", "not supported yet; leave it out")


Unsupported = Annotated[Any, BeforeValidator(_refuse)]
"""The annotation of such a key; give it the default ``None``."""
