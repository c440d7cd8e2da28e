"""What holds for every document: paths, edits, scalars, written and read again, and merged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from inferlane.config.compose import compose
from inferlane.config.dump import dump
from inferlane.config.edits import edit
from inferlane.config.nodes import Mark, Node, find, grown, merged, plain, put, walk, without
from inferlane.config.paths import Path, join, split
from inferlane.config.scalars import ScalarError, resolve
from inferlane.config.zips import zipped

PROFILE = settings(max_examples=100, deadline=None, derandomize=True, database=None)
HERE = Mark("here", 1, 1)

signs = st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co", "Zl", "Zp"), exclude_characters="\ufeff")
words = st.text(signs, min_size=1, max_size=12)
PLAIN = r"""
yes no on Off null ~ true False 4:00:00 08:00 010 1e5 1e-5 .5 - 0x1f 1_000 2026-01-01 1.2.3 {a} [ *a
&a !t % @ ` ' " = << ? | > ... --- .inf .NaN 0b1 0o7 +1
"""
SPACED = ["", "- a", "a: b", "a #b", " a", "a ", "a\nb", "\n", "a\n\n", "\ta", "? a"]
tricky = st.sampled_from([*PLAIN.split(), *SPACED])
texts = words | tricky
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(texts, values, max_size=4)
paths = st.builds(lambda first, rest: (first, *rest), texts, st.lists(texts | st.integers(0, 99), max_size=4))


def counted(root: Node) -> int:
    return sum(1 for _ in walk(root))


def edited(root: Node, sets: Sequence[str] = (), unsets: Sequence[str] = ()) -> Node:
    changed, faults = edit(root, sets, unsets)
    assert faults == []
    return changed


@PROFILE
@given(paths)
def test_every_path_is_read_as_it_was_written(path: Path) -> None:
    assert split(join(path)) == path


@PROFILE
@given(documents)
def test_every_document_reads_back_as_the_same_values_here_and_elsewhere(document: dict[str, Any]) -> None:
    text = dump(grown(document, HERE))
    assert plain(compose(text, "file")) == document
    assert yaml.safe_load(text) == document


@PROFILE
@given(texts)
def test_quoted_text_stays_text(text: str) -> None:
    for quoted in (json.dumps(text, ensure_ascii=False), "'" + text.replace("'", "''") + "'"):
        assume(quoted[0] == '"' or "\n" not in text)
        assert compose(f"key: {quoted}", "file").value["key"].value == text  # type: ignore[index,call-overload,union-attr]


@PROFILE
@given(st.from_regex(r"[-+]?[0-9][0-9_.:eExTZ+\- ]{0,8}", fullmatch=True) | texts)
def test_a_plain_scalar_is_itself_or_a_number_or_a_word_of_yaml(text: str) -> None:
    try:
        value = resolve(text)
    except ScalarError:
        return
    if isinstance(value, str):
        assert value == text
    elif isinstance(value, float) and not math.isnan(value):
        assert re.fullmatch(r"[-+]?(\.inf|[\d_.]+([eE][-+]?\d+)?)", text.lower())
    elif isinstance(value, int) and not isinstance(value, bool):
        assert re.fullmatch(r"[-+]?(0[xb][\da-fA-F_]+|[\d_]+)", text)
        assert value == int(text.replace("_", ""), 0)


@PROFILE
@given(st.from_regex(r"[0-9]{1,2}(:[0-9]{2}){1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]+(\.[0-9]+){2,3}", fullmatch=True))
def test_times_dates_and_versions_stay_text(text: str) -> None:
    assert resolve(text) == text


@PROFILE
@example({}, ("spaced ",), None)
@example({}, ('"=\\"', "a=b"), 1)
@given(documents, st.lists(texts, min_size=1, max_size=3).map(tuple), values)
def test_what_is_set_is_there_and_unset_again_gives_the_document_before(
    document: dict[str, Any], path: tuple[str, ...], value: Any
) -> None:
    root = grown(document, HERE)
    parents = [find(root, path[:depth]) for depth in range(1, len(path))]
    assume(all(parent is not None and isinstance(parent.value, dict) for parent in parents))
    changed = edited(root, sets=[f"{join(path)}={json.dumps(value, ensure_ascii=False)}"])
    assert plain(find(changed, path) or root) == value
    assert changed.size == counted(changed)
    assert plain(root) == document
    if find(root, path) is None:
        assert plain(edited(changed, unsets=[join(path)])) == document


@PROFILE
@given(texts)
def test_a_bare_value_of_an_edit_means_what_it_means_in_a_file(text: str) -> None:
    assume(text.strip()[:1] not in ("[", "{", '"', "'"))
    try:
        value = resolve(text.strip())
    except ScalarError:
        return
    assert repr(plain(edited(grown({}, HERE), sets=[f"key={text}"]))) == repr({"key": value})


def merge(low: Any, high: Any) -> Any:
    """The rule of overrides, in the fewest words."""
    if not isinstance(high, dict):
        return high
    low = low if isinstance(low, dict) else {}
    both = {**low, **{name: merge(low.get(name), value) for name, value in high.items()}}
    return {name: value for name, value in both.items() if name not in high or high[name] is not None}


@PROFILE
@given(documents, documents)
def test_an_override_merges_mappings_replaces_lists_and_deletes_at_null(
    low: dict[str, Any], high: dict[str, Any]
) -> None:
    result = merged(grown(low, HERE), grown(high, HERE))
    assert plain(result) == merge(low, high)
    assert result.size == counted(result)


@PROFILE
@given(documents, documents)
def test_an_override_changes_nothing_twice_and_none_changes_nothing(low: dict[str, Any], high: dict[str, Any]) -> None:
    base, over = grown(low, HERE), grown(high, HERE)
    once = merged(base, over)
    assert plain(merged(once, over)) == plain(once)
    assert plain(merged(base, grown({}, HERE))) == low
    assert plain(base) == low


@PROFILE
@given(documents, st.lists(texts | st.integers(0, 2), min_size=1, max_size=3).map(tuple), values)
def test_trees_count_their_nodes_and_never_change(document: dict[str, Any], path: Path, value: Any) -> None:
    root = grown(document, HERE)
    try:
        larger = put(root, path, grown(value, HERE))
    except LookupError:
        return
    assert larger.size == counted(larger)
    smaller = without(larger, path)
    assert find(smaller, path) is None or isinstance(path[-1], int)
    assert smaller.size == counted(smaller)
    assert plain(root) == document


@st.composite
def zips(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    """A zip block with at least one list of the full length, and that length."""
    length = draw(st.integers(1, 4))
    full = st.lists(scalars, min_size=length, max_size=length)
    leaves = full | st.lists(scalars, min_size=1, max_size=1) | scalars
    blocks = st.dictionaries(words, leaves | st.dictionaries(words, leaves, max_size=3), max_size=4)
    return length, {**draw(blocks), "axis": draw(full), "name": draw(st.lists(words, min_size=length, max_size=length))}


@PROFILE
@given(zips())
def test_a_zip_block_gives_one_variant_for_each_position_of_its_lists(block: tuple[int, dict[str, Any]]) -> None:
    length, document = block
    variants, faults = zipped("zip_override_x", grown(document, HERE))

    def at(value: Any, index: int) -> Any:
        if isinstance(value, dict):
            return {name: at(item, index) for name, item in value.items()}
        return value[min(index, len(value) - 1)] if isinstance(value, list) else value

    assert faults == []
    assert [plain(variant) for variant in variants] == [at(document, index) for index in range(length)]
    assert all(variant.size == counted(variant) for variant in variants)
