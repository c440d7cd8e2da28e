"""A pseudo tokenizer: 1.3 tokens a word, rounded up, always the same for the same text.

No model is loaded, so counts are not those of any real tokenizer; 1.3 is what English text gives with common ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count_text(text: str) -> int:
    """Tokens of a text."""
    return -(-13 * len(text.split()) // 10)


def count_prompt(prompt: Any) -> int:
    """Tokens of a completion's prompt: text, token ids, or a list of either."""
    if isinstance(prompt, str):
        return count_text(prompt)
    if isinstance(prompt, list):
        return sum(1 if isinstance(item, int) else count_prompt(item) for item in prompt)
    raise ValueError("prompt must be text, token ids, or a list of them")


def count_messages(messages: Any) -> int:
    """Tokens of a chat: its texts, and 4 for each message's frame."""
    if not isinstance(messages, list) or not messages or not all(isinstance(item, Mapping) for item in messages):
        raise ValueError("messages must be a list of objects, with at least one")
    return sum(4 + _content(message.get("content")) for message in messages)


def _content(content: Any) -> int:
    if isinstance(content, str):
        return count_text(content)
    parts = content if isinstance(content, list) else []
    return sum(count_text(str(part.get("text", ""))) for part in parts if isinstance(part, Mapping))


def word(number: int) -> str:
    """The text of the ``number``-th token of an answer, from 1."""
    return f" w{number}"


def text(tokens: int) -> str:
    """The text of an answer of so many tokens."""
    return "".join(word(number) for number in range(1, tokens + 1))
