"""How YAML text is read: one meaning for every scalar, a bound on everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from inferlane.config import SourceMap, load_recipe
from inferlane.config.compose import MAX_DEPTH, compose
from inferlane.config.faults import FileRefused
from inferlane.config.files import MAX_BYTES, read
from inferlane.config.nodes import plain

LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


def value(text: str) -> object:
    return plain(compose(f"a: {text}\n", "f.yaml"))["a"]


def fault(text: str) -> str:
    with pytest.raises(FileRefused) as caught:
        compose(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    "text", ["4:00:00", "30:00", "1:30", "04:00:00", "2024-01-02", "2024-01-02T03:04:05Z", "1.2.3"]
)
def test_times_dates_and_versions_stay_text(text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1e-5", 1e-5), ("1E3", 1000.0), ("-.5", -0.5), ("3.", 3.0), ("0", 0), ("-7", -7), ("0x1F", 31), ("1_000", 1000)],
)
def test_numbers_are_read_as_people_read_them(text: str, expected: float) -> None:
    result = value(text)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("False", False), ("~", None), ("", None), ("null", None)]
)
def test_true_false_and_null_are_the_only_words_with_a_meaning(text: str, expected: object) -> None:
    assert value(text) is expected


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off"])
def test_a_plain_switch_word_is_refused_and_a_quoted_one_is_text(word: str) -> None:
    assert "put it in quotes" in fault(f"a: {word}\n")
    assert value(f'"{word}"') == word


def test_a_switch_word_as_a_key_is_refused() -> None:
    assert fault("a: 1\non: 2\n").startswith("f.yaml:2:1:")


@pytest.mark.parametrize("text", ["0644", "-012", "08", "00"])
def test_an_integer_with_a_leading_zero_is_refused(text: str) -> None:
    assert "leading zero" in fault(f"a: {text}\n")
    assert value(f"'{text}'") == text


def test_text_that_reads_as_an_endless_number_is_refused() -> None:
    assert "quotes" in fault("rev: 7120e999\n")


def test_a_key_that_is_a_number_is_refused_with_the_spelling() -> None:
    assert '"8"' in fault("a: {8: x}\n")


def test_a_repeated_key_is_refused_with_both_positions() -> None:
    message = fault("roles:\n  decode: {workers: 1, tp: 8, tp: 4}\n")
    assert "f.yaml:2:31" in message
    assert "first at f.yaml:2:24" in message
    assert "'tp'" in message


def test_a_merge_with_an_override_loads() -> None:
    root = compose("base: &b {workers: 1, tp: 8}\nroles:\n  decode: {<<: *b, tp: 4}\n", "f.yaml")
    assert plain(root)["roles"]["decode"] == {"workers": 1, "tp": 4}


def test_merges_follow_the_order_that_yaml_loaders_use() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], w: 0}\nd: {<<: *a, <<: *b}\n"
    root = plain(compose(text, "f.yaml"))
    assert root["c"] == yaml.safe_load(text)["c"]
    assert root["d"] == yaml.safe_load(text)["d"]
    assert list(root["c"]) == list(yaml.safe_load(text)["c"])


def test_a_merge_of_something_else_is_refused() -> None:
    assert "'<<'" in fault("a: {<<: 3}\n")


def test_aliases_that_expand_without_bound_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "expands to more than" in fault("\n".join(lines))


def test_aliases_cannot_nest_deeper_than_a_file_may() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400))]
    assert "levels deep, through aliases" in fault("\n".join(lines))


def test_an_alias_inside_its_own_anchor_is_refused() -> None:
    assert "anchor" in fault("a: &a [*a]\n")


@pytest.mark.parametrize("loader", LOADERS)
def test_deep_nesting_is_refused(loader: object) -> None:
    text = "a: " + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)
    with pytest.raises(FileRefused, match="levels deep"):
        compose(text, "f.yaml", loader=loader)


def test_endless_nesting_ends_in_a_refusal() -> None:
    assert "f.yaml:1:" in fault("[" * 100_000)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [ls]", "!!str 4", "!custom x"])
def test_tags_are_refused_plainly(tag: str) -> None:
    message = fault(f"a: {tag}\n")
    assert "f.yaml:1:4: a: tags are not read" in message


def test_a_second_document_is_refused() -> None:
    assert fault("a: 1\n---\nb: 2\n").startswith("f.yaml:2:1: a second document")


def test_a_syntax_error_has_a_position_and_one_line() -> None:
    message = fault("a: 1\nb: [1, 2\nc: 3\n")
    assert message.startswith("f.yaml:3:")
    assert "\n" not in message


@pytest.mark.parametrize("loader", LOADERS)
def test_both_parsers_give_the_same_positions(loader: object) -> None:
    root = compose("a:\n  b: &x\n    c: 1\n  d: *x\n", "f.yaml", loader=loader)
    source = SourceMap(root)
    assert source.where("a.d") == "f.yaml:4:3"
    assert source.where("a.d.c") == "f.yaml:3:5"
    assert source.origin("a.d.c") == "f.yaml:3:8"


def test_all_faults_of_a_text_come_at_once() -> None:
    assert len(fault("a: yes\nb: 012\nc: 1\nc: 2\n").splitlines()) == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"# only a comment\n", "empty"),
        (b"a: 1\nb: \0\n", "recipe.yaml:2:1: not a text file"),
        ("a: caf\xe9\n".encode("latin-1"), "recipe.yaml:1:7: not UTF-8"),
        (b"\x7fELF\x02\x01\x01\0\0", "NUL"),
        (b"- a\n- b\n", "top level must be a mapping"),
        (b"a: \x07\n", "not valid YAML"),
        (b"a: " + b"x" * MAX_BYTES, "larger than 8 MiB"),
    ],
)
def test_a_file_that_is_no_recipe_gives_one_clear_line(write: Callable[..., str], data: bytes, words: str) -> None:
    with pytest.raises(FileRefused) as caught:
        load_recipe(write(data))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_unreadable_and_directory_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileRefused, match=r"nothing\.yaml: no such file"):
        load_recipe("nothing.yaml")
    with pytest.raises(FileRefused, match="folder: this is a directory"):
        load_recipe("folder")
    monkeypatch.setattr(Path, "open", _denied)
    with pytest.raises(FileRefused, match="permission denied"):
        load_recipe("folder")


def _denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "denied")


def test_a_byte_order_mark_is_no_fault(write: Callable[..., str]) -> None:
    assert plain(read(Path(write(b"\xef\xbb\xbfa: 1\n")), "recipe.yaml")) == {"a": 1}
