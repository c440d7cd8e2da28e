"""Prompts of a wanted length, and how many words make how many tokens."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from inferlane.errors import UsageFault
from inferlane.load.spec import LoadSpec

# Short and common, so that most tokenizers spend one token on each.
_COMMON = """
    time year people way day man thing woman life child world school state family student group country problem hand
    part place case week company system program question work government number night point home water room mother
    area money story fact month lot right study book eye job word business issue side kind head house service friend
    father power hour game line end member law car city name team minute idea body back parent face others level
    office door health person art war history party result change morning reason research girl guy moment air
    teacher force education foot boy age policy music food plan market price table north south river road light
    field paper letter color image model voice ground summer winter garden window station record nature animal
    bridge island ocean mountain forest stone metal glass paint shape center corner circle square distance speed
    weight value
"""
WORDS = tuple(_COMMON.split())

HEAD = 8
"""Words at the start of each prompt that are its own, so that no prompt is a prefix-cache hit of another."""

POOL = 1 << 15


class Ask(msgspec.Struct, frozen=True):
    """One request to send: its number in the level, prompt, and tokens wanted in and out."""

    index: int
    prompt: str
    isl: int
    osl: int


class Lengths(msgspec.Struct, frozen=True, kw_only=True):
    """How words become tokens: ``tokens = fixed + per_word x words``. ``source``: who counted."""

    per_word: float = 1.0
    fixed: float = 0.0
    source: str = "not calibrated: one token per word assumed"

    def words(self, tokens: int) -> int:
        """How many words make about ``tokens`` tokens, at least one."""
        return max(1, round((tokens - self.fixed) / self.per_word))


class Prompts:
    """Texts cut from one pool of random words; the same seed gives the same texts."""

    def __init__(self, seed: str, longest: int) -> None:
        self._random = random.Random(seed)  # noqa: S311
        words = self._random.choices(WORDS, k=POOL + longest)
        self._text = " ".join(words)
        self._starts = [0]
        for word in words:
            self._starts.append(self._starts[-1] + len(word) + 1)

    def text(self, words: int) -> str:
        """A text of that many words."""
        head = " ".join(self._random.choices(WORDS, k=min(HEAD, words)))
        rest = words - HEAD
        if rest <= 0:
            return head
        first = self._random.randrange(POOL)
        return f"{head} {self._text[self._starts[first] : self._starts[first + rest] - 1]}"


def asks(spec: LoadSpec, lengths: Lengths, seed: str, wanted: int | None) -> Iterator[Ask]:
    """The requests of one level or warm-up, one after the other; without end when ``wanted`` is ``None``.

    The pool of words is built by the call itself, so that no measured second holds it.
    """
    return _draw(spec, lengths, seed, wanted, Prompts(f"{seed}/text", lengths.words(spec.isl)))


def _draw(spec: LoadSpec, lengths: Lengths, seed: str, wanted: int | None, prompts: Prompts) -> Iterator[Ask]:
    draw = random.Random(f"{seed}/length")  # noqa: S311
    for index in count() if wanted is None else range(wanted):
        isl, osl = (_length(draw, tokens, spec.random_range_ratio) for tokens in (spec.isl, spec.osl))
        yield Ask(index, prompts.text(lengths.words(isl)), isl, osl)


def _length(draw: random.Random, tokens: int, ratio: float) -> int:
    return draw.randint(max(1, math.floor(tokens * ratio)), tokens)


def fit(words: tuple[int, int], tokens: tuple[int, int], source: str) -> Lengths:
    """Lengths from two counted texts; one point only when both have the same number of words."""
    if words[0] == words[1]:
        return Lengths(per_word=max(tokens[0], 1) / words[0], source=source)
    per_word = (tokens[1] - tokens[0]) / (words[1] - words[0])
    if per_word <= 0:
        return Lengths(per_word=max(tokens[1], 1) / words[1], source=source)
    return Lengths(per_word=per_word, fixed=tokens[0] - per_word * words[0], source=source)


def probe_words(isl: int) -> tuple[int, int]:
    """The sizes of the two texts that are counted."""
    return max(1, isl // 4), isl


def counter(tokenizer: str) -> Callable[[str], int]:
    """A function that counts tokens with a local tokenizer. Raises :class:`UsageFault` if that can not be had."""
    path = Path(tokenizer)
    if not path.exists():
        raise UsageFault(f"tokenizer {tokenizer}: no such file or folder; leave it out to use the server's own counts")
    try:
        return _counter(path)
    except ImportError:
        raise UsageFault(
            f"tokenizer {tokenizer}: neither 'tokenizers' nor 'transformers' is installed;"
            " install one, or leave the tokenizer out to use the server's own counts"
        ) from None
    except Exception as error:  # noqa: BLE001 - foreign libraries raise their own kinds
        raise UsageFault(f"tokenizer {tokenizer}: can not be loaded: {error}") from None


def _counter(path: Path) -> Callable[[str], int]:
    file = path / "tokenizer.json" if path.is_dir() else path
    loaded: Any
    if file.name.endswith(".json") and file.is_file():
        import tokenizers  # type: ignore[import-not-found, unused-ignore]

        loaded = tokenizers.Tokenizer.from_file(str(file))
        return lambda text: len(loaded.encode(text).ids)
    import transformers  # type: ignore[import-not-found, unused-ignore]

    loaded = transformers.AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    return lambda text: len(loaded.encode(text))
