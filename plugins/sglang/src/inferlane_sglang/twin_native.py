"""SGLang's own ``/generate`` path, as a twin answers it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from inferlane.twins import tokens
from inferlane.twins.answers import Ask, BadRequestError, length


def read_generate(body: Mapping[str, Any], served_model: str) -> Ask:
    """Read the body of ``/generate``. Raises ``BadRequestError``."""
    prompt = body.get("text", body.get("input_ids"))
    sampling = body.get("sampling_params") or {}
    if not isinstance(sampling, Mapping):
        raise BadRequestError("sampling_params must be an object")
    try:
        prompt_tokens = tokens.count_prompt(prompt)
    except ValueError as error:
        raise BadRequestError("text or input_ids must be given") from error
    count, finish = length(sampling, "max_new_tokens")
    batch = isinstance(prompt, list) and bool(prompt) and not isinstance(prompt[0], int)
    return Ask(
        id=uuid.uuid4().hex,
        model=served_model,
        prompt_tokens=prompt_tokens,
        choices=len(prompt) if batch and prompt is not None else 1,
        tokens=count,
        finish=finish,
        stream=bool(body.get("stream")),
    )


class GenerateForm:
    """``/generate``: text so far and ``meta_info``; a batch is a list, and in a stream each event has its index."""

    def whole(self, ask: Ask) -> Any:
        """The answer in one piece."""
        answers = [self._state(ask, ask.tokens, last=True) for _ in range(ask.choices)]
        return answers[0] if ask.choices == 1 else answers

    def opening(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """Nothing."""
        return ()

    def step(self, ask: Ask, choice: int, made: int, last: bool) -> dict[str, Any]:
        """The text so far."""
        state = self._state(ask, made, last=last)
        return state if ask.choices == 1 else {**state, "index": choice}

    def closing(self, ask: Ask) -> Iterable[dict[str, Any]]:
        """Nothing."""
        return ()

    def _state(self, ask: Ask, made: int, *, last: bool) -> dict[str, Any]:
        reason = {"type": ask.finish, "length": made} if ask.finish == "length" else {"type": ask.finish}
        meta = {
            "id": ask.id,
            "finish_reason": reason if last else None,
            "prompt_tokens": ask.prompt_tokens // ask.choices,
            "completion_tokens": made,
            "cached_tokens": 0,
        }
        return {"text": tokens.text(made), "output_ids": list(range(1, made + 1)), "meta_info": meta}
