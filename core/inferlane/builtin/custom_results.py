"""The verdict over the files that a command of one's own left behind."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec

from inferlane.api import Summary

_CUT = 32 << 20
"""Characters from which on a file may have been cut while it was read: its end tells nothing."""

Count = Annotated[int, msgspec.Meta(ge=0)]


class Counts(msgspec.Struct, frozen=True):
    """What serving clients call their counts; a document whose ``completed`` is no number has none."""

    completed: Count
    num_prompts: Count | None = None
    failed: Count = 0
    cancelled: Count = 0
    total_output_tokens: Count | None = None
    output_throughput: float | None = None
    valid: bool = True
    reason: str = ""

    @property
    def requests(self) -> int:
        """Requests that were asked for."""
        ended = self.completed + self.failed + self.cancelled
        return ended if self.num_prompts is None else max(self.num_prompts, ended)

    @property
    def errors(self) -> int:
        """Requests that did not succeed, also where only the number of those that did is told."""
        return self.requests - self.completed - self.cancelled


def judged(outputs: Mapping[str, str], globs: Sequence[str], max_error_share: float) -> Summary:
    """Ok when each glob has a file that is not empty, and no counts in them tell of failed requests or no tokens."""
    faults = [
        f"nothing matches {glob} in the results folder (SRT_RESULT_DIR)"
        for glob in globs
        if not _matching(outputs, glob)
    ]
    faults += [f"{name} is empty" for name, text in outputs.items() if not text.strip()]
    found: list[tuple[str, Counts]] = []
    for name, text in sorted(outputs.items()):
        try:
            found += [(name, counts) for counts in _counts(name, text)]
        except ValueError as fault:
            faults.append(f"{name}: {fault}")
    faults += [f"{name}: {said}" for name, counts in found if (said := _fault(counts, max_error_share))]
    return Summary(
        ok=not faults,
        requests=sum(counts.requests for _, counts in found),
        errors=sum(counts.errors for _, counts in found),
        cancelled=sum(counts.cancelled for _, counts in found),
        message="; ".join(faults),
        rows=tuple(_row(name, counts) for name, counts in found),
    )


def _matching(outputs: Mapping[str, str], glob: str) -> list[str]:
    """As pathlib matches a pattern without ``**``: part by part."""
    parts = glob.split("/")
    split = ((name, name.split("/")) for name in outputs)
    return [name for name, words in split if len(words) == len(parts) and all(map(fnmatchcase, words, parts))]


def _counts(name: str, text: str) -> Iterator[Counts]:
    """ValueError: a file that is JSON by its name and cannot be read, or counts that are none."""
    for document in _documents(name, text):
        told = {key: value for key, value in document.items() if not _unknown(value)}
        completed = told.get("completed")
        if isinstance(completed, bool) or not isinstance(completed, int | float | str):
            continue  # another kind of file: only its being there counts
        if isinstance(completed, str) and not completed.strip().isdecimal():
            continue
        try:
            yield msgspec.convert(told, Counts, strict=False)
        except msgspec.ValidationError as fault:
            raise ValueError(f"counts cannot be read: {fault}") from None


def _unknown(value: object) -> bool:
    """Null, and what Python writes for the mean of nothing: the same as not told."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _documents(name: str, text: str) -> Iterator[Mapping[str, Any]]:
    """One JSON document, a list of them, or one on each line; NaN is a number, as in what Python writes."""
    text = text.removeprefix("\ufeff").strip()
    try:
        documents = [_decoded(text)]
    except ValueError as fault:
        documents, unread = [], 0
        for line in text.splitlines():
            try:
                documents.append(_decoded(line))
            except ValueError:
                unread += bool(line.strip())
        if unread and name.endswith((".json", ".jsonl")) and len(text) < _CUT:
            raise ValueError(f"is no JSON, or was cut off: {fault}") from None
    for document in documents:
        yield from (each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict))


def _decoded(text: str) -> Any:
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("too deep") from None


def _integer(digits: str) -> float:
    """Python refuses to read integers of thousands of digits."""
    return int(digits) if len(digits) < 20 else float(digits)


def _fault(counts: Counts, max_error_share: float) -> str:
    if not counts.valid:
        return f"says it is not valid{f': {counts.reason}' if counts.reason else ''}"
    if counts.completed <= 0:
        return f"no request was completed, of {counts.requests}"
    if counts.errors > max_error_share * counts.requests:
        return f"{counts.errors} of {counts.requests} requests failed"
    return "no token came back" if counts.total_output_tokens == 0 else ""


def _row(name: str, counts: Counts) -> Mapping[str, float | int | str]:
    rate = counts.output_throughput
    return {
        "file": name,
        "requests": counts.requests,
        "ok": counts.completed,
        "errors": counts.errors,
        "cancelled": counts.cancelled,
        "output_tokens": "-" if counts.total_output_tokens is None else counts.total_output_tokens,
        "output_tokens_per_s": "-" if rate is None else round(rate, 3),
    }
