"""Taking the values of secret variables out of whatever is written."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SHORTEST = 4
"""Characters of a value that is looked for; shorter ones would take pieces out of ordinary words."""


def secret_values(environments: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The values of all variables whose names say that they are secret; references are none."""
    from inferlane.config import is_secret  # heavy, and not needed by commands that only read

    return frozenset(
        value
        for env in environments
        for name, value in env.items()
        if is_secret(name) and len(value) >= SHORTEST and not REFERENCE.fullmatch(value)
    )


def spellings(values: Iterable[str]) -> tuple[str, ...]:
    """Every way in which JSON, Python, a shell or a URL may spell the values, the longest first."""
    found: set[str] = set()
    for value in values:
        found |= {value, repr(value)[1:-1], shlex.quote(value)}
        found |= {json.dumps(value, ensure_ascii=plain)[1:-1] for plain in (True, False)}
        raw = value.encode(errors="surrogateescape")
        found |= {quote(raw), quote(raw, safe=""), quote_plus(raw)}
        found |= {re.sub("%..", lambda match: match[0].lower(), text) for text in (quote(raw), quote(raw, safe=""))}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


class Redactor:
    """Takes known secret values out of text."""

    def __init__(self, environments: Iterable[Mapping[str, str]] = ()) -> None:
        self.values = secret_values(environments)
        self._pattern = re.compile("|".join(map(re.escape, spellings(self.values)))) if self.values else None

    def text(self, text: str) -> str:
        """``text`` with each secret value replaced."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def content(self, content: bytes) -> bytes:
        """The same for bytes in UTF-8 (others pass through unharmed). A JSON object stays one: of a secret that is a
        number, only texts are changed.
        """
        if self._pattern is None:
            return content
        before = content.decode(errors="surrogateescape")
        after = self.text(before)
        if after != before and before.startswith("{") and not _is_json(after) and _is_json(before):
            indent = 2 if "\n" in before.rstrip() else None
            after = json.dumps(self._inside(json.loads(before)), indent=indent) + "\n" * before.endswith("\n")
        return after.encode(errors="surrogateescape")

    def _inside(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._inside(item) for key, item in value.items()}
        return [self._inside(item) for item in value] if isinstance(value, list) else value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
