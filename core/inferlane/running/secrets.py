"""Taking the values of secret variables out of whatever is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

MASK = "***"

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORTEST = 4  # shorter values would take pieces out of ordinary words


class Redactor:
    """Takes known secret values out of text."""

    def __init__(self, environments: Iterable[Mapping[str, str]] = ()) -> None:
        from inferlane.config import is_secret  # heavy, and not needed by commands that only read

        values = {
            value
            for env in environments
            for name, value in env.items()
            if is_secret(name) and len(value) >= _SHORTEST and not REFERENCE.fullmatch(value)
        }
        forms = values | {json.dumps(value, ensure_ascii=plain)[1:-1] for value in values for plain in (True, False)}
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """``text`` with each secret value replaced."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def content(self, content: bytes) -> bytes:
        """The same for bytes in UTF-8 (others pass through unharmed)."""
        if self._pattern is None:
            return content
        return self.text(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")
