"""Zip groups: lists that run side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.config import FileRefused, LoadedRecipe, load_recipe

Write = Callable[..., str]

BASE = """\
schema: 2
base:
  name: demo
  model: {path: "hf:org/model"}
  engine: toy
  frontend: {type: none}
  environment: {A: "1", B: "2"}
  roles: {agg: {nodes: 1, args: {sizes: [1, 2], depth: 4}}}
"""
GROUP = """\
zip_override_scale:
  roles:
    agg:
      nodes: [1, 2, 4]
      args:
        sizes: [[8], [8, 16], []]
        depth: [5]
        kept: word
  environment:
    B: [x, null, "3"]
"""


@pytest.fixture
def load(write: Write) -> Callable[..., LoadedRecipe]:
    def _load(group: str = GROUP, which: str = "", sets: tuple[str, ...] = ()) -> LoadedRecipe:
        return load_recipe(write(BASE + group, "z.yaml") + which, sets)

    return _load


@pytest.fixture
def refused(load: Callable[..., LoadedRecipe]) -> Callable[..., list[str]]:
    def _lines(group: str) -> list[str]:
        with pytest.raises(FileRefused) as caught:
            load(group)
        return str(caught.value).splitlines()

    return _lines


def test_each_position_of_the_lists_is_a_variant(load: Callable[..., LoadedRecipe]) -> None:
    recipes = [load(which=f":zip_override_scale[{index}]").recipe for index in range(3)]
    assert [recipe.roles["agg"].nodes for recipe in recipes] == [1, 2, 4]
    assert [recipe.name for recipe in recipes] == ["demo_scale_0", "demo_scale_1", "demo_scale_2"]


def test_a_list_of_one_item_and_a_scalar_hold_for_all(load: Callable[..., LoadedRecipe]) -> None:
    for index in range(3):
        args = load(which=f":zip_override_scale[{index}]").recipe.roles["agg"].args
        assert (args["depth"], args["kept"]) == (5, "word")


def test_a_list_of_lists_gives_literal_lists(load: Callable[..., LoadedRecipe]) -> None:
    sizes = [load(which=f":zip_override_scale[{i}]").recipe.roles["agg"].args["sizes"] for i in range(3)]
    assert sizes == [[8], [8, 16], []]


def test_null_at_a_position_deletes_there(load: Callable[..., LoadedRecipe]) -> None:
    environments = [load(which=f":zip_override_scale[{index}]").recipe.environment for index in range(3)]
    assert environments == [{"A": "1", "B": "x"}, {"A": "1"}, {"A": "1", "B": "3"}]


def test_mappings_in_a_list_merge_with_the_base(load: Callable[..., LoadedRecipe]) -> None:
    group = "zip_override_g:\n  environment: [{B: x}, {C: y}]\n"
    assert load(group, ":zip_override_g[1]").recipe.environment == {"A": "1", "B": "2", "C": "y"}


def test_a_list_of_names_names_the_variants(load: Callable[..., LoadedRecipe]) -> None:
    group = GROUP + "  name: [small, middle, large]\n"
    loaded = load(group, ":zip_override_scale[2]")
    assert loaded.recipe.name == "large"
    assert loaded.source.where("name") == "z.yaml:19:25"


def test_the_position_of_the_item_used_survives(load: Callable[..., LoadedRecipe]) -> None:
    source = load(which=":zip_override_scale[1]").source
    assert source.where("roles.agg.nodes") == "z.yaml:12:18"
    assert source.where("roles.agg.args.sizes[1]") == "z.yaml:14:26"
    assert source.where("roles.agg.args.depth") == "z.yaml:15:17"
    assert source.where("environment.A") == "z.yaml:7:17"
    assert source.where("name") == "z.yaml:9:1"


def test_a_wrong_item_is_refused_at_its_place(load: Callable[..., LoadedRecipe]) -> None:
    with pytest.raises(FileRefused) as caught:
        load(GROUP.replace("[1, 2, 4]", "[1, two, 4]"), ":zip_override_scale[1]")
    assert str(caught.value).startswith("z.yaml:12:18: roles.agg.nodes: ")


def test_an_edit_holds_in_each_variant_and_keeps_their_number(load: Callable[..., LoadedRecipe]) -> None:
    sets = ("roles.agg.nodes=7", "roles.agg.args.sizes=[1, 2]")
    for index in range(3):
        loaded = load(which=f":zip_override_scale[{index}]", sets=sets)
        assert loaded.recipe.roles["agg"].nodes == 7
        assert loaded.recipe.roles["agg"].args["sizes"] == [1, 2]
        assert loaded.source.where("roles.agg.nodes") == "--set"


def test_a_group_of_one_variant_needs_no_selector(load: Callable[..., LoadedRecipe]) -> None:
    loaded = load("zip_override_g:\n  name: one\n  environment: {B: [x]}\n")
    assert loaded.recipe.name == "one"


@pytest.mark.parametrize(
    ("group", "line"),
    [
        (
            "zip_override_g:\n  environment: {A: [a, b], B: [a, b, c], C: [x]}\n  roles: {agg: {nodes: [1, 2, 4]}}\n",
            "z.yaml:9:1: zip_override_g: lists of different lengths: 2 in environment.A; 3 in environment.B, "
            "roles.agg.nodes. Make them equal, or of one item for all; a list that is a value itself is written in a "
            "list: [[…]]",
        ),
        (
            "zip_override_g:\n  environment: {A: x}\n",
            "z.yaml:9:1: zip_override_g: has no list, so there is nothing to zip; write lists, or call it override_g",
        ),
        (
            "zip_override_g: {}\n",
            "z.yaml:9:1: zip_override_g: has no list, so there is nothing to zip; write lists, or call it override_g",
        ),
        (
            "zip_override_g:\n  environment: {A: [], B: [x, y]}\n",
            "z.yaml:10:17: zip_override_g.environment.A: an empty list gives no variant; write one item per variant, "
            "or take it out",
        ),
        (
            "zip_override_g:\n  name: same\n  environment: {A: [x, y]}\n",
            "z.yaml:10:9: zip_override_g.name: one name for 2 variants; write a list of 2 names, or leave it out",
        ),
        (
            "zip_override_g:\noverride_x:\n",
            "z.yaml:9:1: zip_override_g: must be a mapping; write {} where nothing changes\n"
            "z.yaml:10:1: override_x: must be a mapping; write {} where nothing changes",
        ),
        ("zip_override_g: [1, 2]\n", "z.yaml:9:1: zip_override_g: must be a mapping"),
        (
            "zip_override_:\n  name: [x]\n",
            "z.yaml:9:1: zip_override_: needs a name of its own, such as zip_override_large",
        ),
        (
            "zip_override_g[0]:\n  name: [x]\n",
            "z.yaml:9:1: \"zip_override_g[0]\": a name of a variant cannot hold '[', which selects; use letters, "
            "digits, '_', '-', '.'",
        ),
    ],
)
def test_a_group_that_cannot_be_zipped_says_why(refused: Callable[..., list[str]], group: str, line: str) -> None:
    assert refused(group) == line.split("\n")


def test_long_lists_of_paths_are_cut(refused: Callable[..., list[str]]) -> None:
    group = "zip_override_g:\n  environment: {A: [a, b], B: [1, 2], C: [1, 2], D: [1, 2], E: [1, 2, 3]}\n"
    [line] = refused(group)
    assert "2 in environment.A, environment.B, environment.C and 1 more; 3 in environment.E. " in line


def test_a_group_without_end_is_refused(refused: Callable[..., list[str]]) -> None:
    group = f"zip_override_g:\n  environment: {{A: [{', '.join(['x'] * 1001)}]}}\n"
    assert refused(group) == ["z.yaml:9:1: zip_override_g: makes 1001 variants of this file; at most 1000 are read"]


def test_groups_count_together(refused: Callable[..., list[str]]) -> None:
    group = f"zip_override_g: &g\n  environment: {{A: [{', '.join(['x'] * 501)}]}}\nzip_override_h: *g\n"
    assert refused(group) == ["z.yaml:11:1: zip_override_h: makes 1002 variants of this file; at most 1000 are read"]


def test_many_variants_of_a_huge_base_are_refused_at_once(write: Write) -> None:
    names = ", ".join(f"n{index}: x" for index in range(20_000))
    text = BASE.replace('{A: "1", B: "2"}', f"{{{names}}}") + f"zip_override_g: {{name: [{', '.join(['n'] * 200)}]}}\n"
    with pytest.raises(FileRefused, match=r"zip_override_g: 200 variants come to 40\d+ values; the file is too large"):
        load_recipe(write(text, "z.yaml"))


def test_many_variants_of_a_huge_group_are_refused_at_once(write: Write) -> None:
    names = ", ".join(f"n{index}: x" for index in range(20_000))
    group = f"zip_override_g: {{environment: {{{names}}}, name: [{', '.join(['n'] * 200)}]}}\n"
    with pytest.raises(FileRefused, match=r"zip_override_g: 200 variants of a block of 20\d+ values; the file is too"):
        load_recipe(write(BASE + group, "z.yaml"))
