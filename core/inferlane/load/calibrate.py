"""Find out how many words make how many tokens, before the warm-up."""

from __future__ import annotations

import aiohttp  # noqa: TID253 - only ever imported in the load client's own process

from inferlane.load.client import Target, complete
from inferlane.load.prompts import Ask, Lengths, Prompts, counter, fit, probe_words
from inferlane.load.spec import LoadSpec


async def calibrate(spec: LoadSpec, http: aiohttp.ClientSession, target: Target, limit_s: float) -> Lengths:
    """Count two texts, with the local tokenizer or by asking the server for one token after each.

    A server that does not tell leaves ``source`` saying so; nothing is retried.
    """
    sizes = probe_words(spec.isl)
    prompts = Prompts(f"{spec.seed}/calibration", spec.isl)
    texts = [prompts.text(size) for size in sizes]
    if spec.tokenizer is not None:
        count = counter(spec.tokenizer)
        return fit(sizes, (count(texts[0]), count(texts[1])), f"tokenizer {spec.tokenizer}")
    counts = []
    for index, text in enumerate(texts):
        outcome = await complete(http, target, Ask(index, text, sizes[index], 1), limit_s)
        if outcome.input_tokens is None:
            why = f"{outcome.kind}: {outcome.message}" if outcome.kind else "the server told no usage"
            return Lengths(source=f"not calibrated, one token per word assumed ({why})")
        counts.append(outcome.input_tokens)
    return fit(sizes, (counts[0], counts[1]), "usage of the server")
