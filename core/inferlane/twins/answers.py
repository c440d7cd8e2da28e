"""What is asked of a twin, and the JSON it answers with, for the two OpenAI paths."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inferlane.twins import tokens

DEFAULT_TOKENS = 16


class BadRequestError(ValueError):
    """The body is not one the engine would take; answered with 400."""


@dataclass(frozen=True)
class Ask:
    """One request, as far as the answer depends on it. ``tokens``: length of each of ``choices`` answers."""

    id: str
    model: str
    prompt_tokens: int
    choices: int
    tokens: int
    finish: str
    stream: bool
    include_usage: bool = False
    continuous_usage: bool = False

    def usage(self, made: int) -> dict[str, int]:
        """Usage after ``made`` tokens of all choices together."""
        total = self.prompt_tokens + made
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": made, "total_tokens": total}


class Form(Protocol):
    """How one path writes its answer."""

    def whole(self, ask: Ask) -> dict[str, Any]:
        """The answer in one piece."""

    def opening(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """Events before the first token of a stream."""

    def step(self, ask: Ask, choice: int, made: int, last: bool) -> dict[str, Any]:
        """The event of a choice's ``made``-th token (0 = an answer of no tokens)."""

    def closing(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """Events after the last token."""


def whole_number(body: Mapping[str, Any], name: str, least: int) -> int | None:
    """A number of the body; ``None`` if absent or null. Raises ``BadRequestError``."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadRequestError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value


def length(body: Mapping[str, Any], *names: str) -> tuple[int, str]:
    """How many tokens to answer with, and the finish reason.

    A twin's answer is as long as the request allows. Without a limit it stops by itself after ``DEFAULT_TOKENS``,
    unless ``ignore_eos`` says that it may not stop.
    """
    for name in names:
        if (limit := whole_number(body, name, 0)) is not None:
            return limit, "length"
    return DEFAULT_TOKENS, "length" if body.get("ignore_eos") else "stop"


def read_ask(body: Mapping[str, Any], served_model: str, *, chat: bool) -> Ask:
    """Read the body of a completion or chat completion. Raises ``BadRequestError``."""
    try:
        prompt_tokens = tokens.count_messages(body.get("messages")) if chat else tokens.count_prompt(body.get("prompt"))
    except ValueError as error:
        raise BadRequestError(str(error)) from error
    prompt = body.get("prompt")
    prompts = len(prompt) if not chat and isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else 1
    count, finish = length(body, "max_completion_tokens", "max_tokens")
    options = body.get("stream_options") or {}
    return Ask(
        id=f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}",
        model=str(body.get("model") or served_model),
        prompt_tokens=prompt_tokens,
        choices=prompts * (whole_number(body, "n", 1) or 1),
        tokens=count,
        finish=finish,
        stream=bool(body.get("stream")),
        include_usage=bool(options.get("include_usage")),
        continuous_usage=bool(options.get("continuous_usage_stats")),
    )


class CompletionForm:
    """``/v1/completions``."""

    kind = "text_completion"
    chunk_kind = "text_completion"

    def whole(self, ask: Ask) -> dict[str, Any]:
        """The answer in one piece."""
        text = tokens.text(ask.tokens)
        choices = [{**self._whole(text), "index": index, "finish_reason": ask.finish} for index in range(ask.choices)]
        return {**_head(ask, self.kind), "choices": choices, "usage": ask.usage(ask.tokens * ask.choices)}

    def opening(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """Nothing."""
        return ()

    def step(self, ask: Ask, choice: int, made: int, last: bool) -> dict[str, Any]:
        """One token."""
        part = self._part(tokens.word(made) if made else "")
        event = {**_head(ask, self.chunk_kind), "choices": [{"index": choice, **part}]}
        event["choices"][0]["finish_reason"] = ask.finish if last else None
        if ask.continuous_usage:
            event["usage"] = ask.usage(made * (choice + 1) + max(0, made - 1) * (ask.choices - choice - 1))
        return event

    def closing(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """The usage, if it was asked for."""
        if ask.include_usage:
            yield {**_head(ask, self.chunk_kind), "choices": [], "usage": ask.usage(ask.tokens * ask.choices)}

    def _whole(self, text: str) -> dict[str, Any]:
        return {"text": text, "logprobs": None}

    def _part(self, text: str) -> dict[str, Any]:
        return {"text": text, "logprobs": None}


class ChatForm(CompletionForm):
    """``/v1/chat/completions``."""

    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def opening(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """The role of each choice."""
        for index in range(ask.choices):
            delta = {"role": "assistant", "content": ""}
            yield {
                **_head(ask, self.chunk_kind),
                "choices": [{"index": index, "delta": delta, "finish_reason": None}],
            }

    def _whole(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text}}

    def _part(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text} if text else {}}


def _head(ask: Ask, kind: str) -> dict[str, Any]:
    return {"id": ask.id, "object": kind, "created": int(time.time()), "model": ask.model}


def error_body(message: str, status: int) -> dict[str, Any]:
    """An error as OpenAI's API writes it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "code": status}}
