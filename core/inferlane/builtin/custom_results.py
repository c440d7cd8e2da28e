"""The verdict over the files that a command of one's own left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from inferlane.api import Summary


class Counts(msgspec.Struct, frozen=True):
    """What serving clients call their counts; a document without ``completed`` has none."""

    completed: int
    num_prompts: int | None = None
    failed: int = 0
    cancelled: int = 0
    total_output_tokens: int | None = None
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
    found = [(name, counts) for name, text in sorted(outputs.items()) for counts in _counts(text)]
    faults += [f"{name}: {fault}" for name, counts in found if (fault := _fault(counts, max_error_share))]
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


def _counts(text: str) -> Iterator[Counts]:
    for document in _documents(text):
        try:
            yield msgspec.convert(document, Counts)
        except msgspec.ValidationError:  # another kind of file: only its being there counts
            continue


def _documents(text: str) -> Iterator[Any]:
    """One JSON document, or one on each line."""
    try:
        yield msgspec.json.decode(text)
        return
    except msgspec.MsgspecError:
        pass
    for line in text.splitlines():
        try:
            yield msgspec.json.decode(line)
        except msgspec.MsgspecError:
            continue


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
