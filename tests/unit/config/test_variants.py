"""Variants, selectors, and edits from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inferlane.config import FileRefused, LoadedRecipe, dump, load_recipe
from inferlane.errors import UsageFault

Write = Callable[..., str]
Load = Callable[..., LoadedRecipe]

VARIANTS = """\
schema: 2
base:
  name: demo
  model: {path: "hf:org/model"}
  engine: toy
  frontend: {type: none}
  environment: {A: "1", B: "2"}
  roles:
    agg:
      nodes: 1
      args: {sizes: [1, 2, 3], depth: 4, gone: 1}
override_big:
  environment: {B: null, C: "3"}
  roles:
    agg:
      nodes: 2
      args: {sizes: [9], gone: null, new: {x: 1, y: null}}
override_named:
  name: other
"""


@pytest.fixture
def variants(write: Write) -> Write:
    return lambda text=VARIANTS: write(text, "v.yaml")


def test_an_override_merges_replaces_lists_and_deletes_with_null(variants: Write) -> None:
    recipe = load_recipe(variants() + ":override_big").recipe
    assert recipe.environment == {"A": "1", "C": "3"}
    assert recipe.roles["agg"].args == {"sizes": [9], "depth": 4, "new": {"x": 1}}
    assert recipe.name == "demo_big"


def test_an_override_may_name_itself_and_base_can_be_selected(variants: Write) -> None:
    assert load_recipe(variants() + ":override_named").recipe.name == "other"
    assert load_recipe("v.yaml:base").recipe.name == "demo"


def test_positions_survive_the_merge(variants: Write) -> None:
    source = load_recipe(variants() + ":override_big").source
    assert source.where("roles.agg.nodes") == "v.yaml:16:7"
    assert source.where("roles.agg.args.depth") == "v.yaml:11:32"
    assert source.where("roles.agg.args.sizes[0]") == "v.yaml:17:22"
    assert source.where("roles.agg.args.unknown.deeper") == "v.yaml:11:7"
    assert source.origin("roles.agg.args.unknown") is None


def test_several_variants_and_no_selector_lists_them(variants: Write) -> None:
    with pytest.raises(FileRefused, match=r"holds 2 variants; .*:base, :override_big, :override_named"):
        load_recipe(variants())


def test_a_single_variant_needs_no_selector(variants: Write) -> None:
    text = VARIANTS[: VARIANTS.index("override_named")]
    assert load_recipe(variants(text)).recipe.name == "demo_big"
    assert load_recipe(variants(text[: text.index("override_big")])).recipe.name == "demo"


@pytest.mark.parametrize(("key", "meant"), [("overide_x", "override_x"), ("bas", "base"), ("schma", "schema")])
def test_a_misspelt_variant_key_is_refused_with_the_right_one(variants: Write, key: str, meant: str) -> None:
    with pytest.raises(FileRefused, match=f"v.yaml:20:1: {key}: unknown key; did you mean '{meant}'"):
        load_recipe(variants(VARIANTS + f"{key}: {{name: x}}\n") + ":override_big")


def test_variants_without_a_base_are_refused(variants: Write) -> None:
    with pytest.raises(FileRefused, match="need a 'base' block; did you mean it by 'bse'"):
        load_recipe(variants(VARIANTS.replace("base:", "bse:")))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("override_bgi", "did you mean 'override_big'"),
        ("override_*", "several variants .* not supported yet"),
        ("zip_override_x", "zip_override is not supported yet"),
        ("zip_override_x[2]", "zip_override is not supported yet"),
    ],
)
def test_a_selector_that_selects_nothing_says_why(variants: Write, selector: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        load_recipe(f"{variants()}:{selector}")


def test_a_selector_on_a_file_without_variants_is_refused(recipe: Load) -> None:
    recipe()
    with pytest.raises(UsageFault, match="no variants"):
        load_recipe("recipe.yaml:base")


def test_a_file_whose_name_holds_a_colon_is_a_file(write: Write) -> None:
    with pytest.raises(FileRefused, match=r"a\.yaml:base:1:1: schema"):
        load_recipe(write("name: x\n", "a.yaml:base"))


def test_set_changes_values_and_says_where_they_come_from(recipe: Load) -> None:
    loaded = recipe(sets=("roles.agg.args.tp=4", 'roles.agg.args."a.b"=[1, x]', "environment.T=4:00:00"))
    assert loaded.recipe.roles["agg"].args == {"tp": 4, "a.b": [1, "x"]}
    assert loaded.recipe.environment == {"T": "4:00:00"}
    assert loaded.source.where("roles.agg.args.tp") == "--set"
    assert loaded.source.where("roles.agg.nodes") == "recipe.yaml:9:5"


def test_set_reaches_into_lists_and_takes_mappings(recipe: Load) -> None:
    more = "services: [{name: a, command: [x]}]\n"
    loaded = recipe(more, sets=("services[0].name=b", "services[1]={name: c}", 'environment={"A": "1"}'))
    assert [service["name"] for service in loaded.recipe.services] == ["b", "c"]
    assert loaded.recipe.environment == {"A": "1"}


def test_set_text_is_taken_whole(recipe: Load) -> None:
    loaded = recipe(sets=("benchmark.type=custom", "benchmark.command=echo a: b # not a comment = x"))
    assert (loaded.recipe.benchmark or {})["command"] == "echo a: b # not a comment = x"


def test_set_does_not_leak_through_an_alias(variants: Write) -> None:
    text = VARIANTS.replace('{A: "1", B: "2"}', '&e {A: "1"}').replace("nodes: 1", "nodes: 1\n      env: *e")
    recipe = load_recipe(variants(text) + ":base", ["roles.agg.env.A=two"]).recipe
    assert recipe.environment == {"A": "1"}
    assert recipe.roles["agg"].env == {"A": "two"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("roles.agg.args", "has no value"),
        ("=4", "path is empty"),
        (".".join("a" * 200) + "=1", "at most 64"),
        ("roles..agg=1", "cannot read the path"),
        ("engine.connector=x", "a single value has no key 'connector'"),
        ("services[3]=x", "has no item"),
        ("environment.A=yes", "put it in quotes"),
        ("environment.A=[1", "not valid YAML"),
        ("roles.agg.wrkers=2", "--set: roles.agg.wrkers: unknown key; did you mean 'workers'"),
    ],
)
def test_a_set_that_cannot_be_is_refused(refused: Callable[..., str], text: str, words: str) -> None:
    assert words in refused(sets=(text,))


def test_a_secret_in_a_set_is_not_echoed(refused: Callable[..., str]) -> None:
    assert "4711" not in refused(sets=("environment.HF_TOKEN=04711", "environment.MY_KEY=4711"))


def test_unset_takes_a_key_away_and_a_misspelt_one_is_refused(recipe: Load, refused: Callable[..., str]) -> None:
    assert recipe(unsets=("roles.agg.gpus",)).recipe.roles["agg"].gpus is None
    assert "--unset: roles.agg.gpu: is not set; did you mean 'gpus'?" in refused(unsets=("roles.agg.gpu",))


def test_a_dumped_recipe_reads_back_as_the_same_values(variants: Write, write: Write) -> None:
    sets = ['environment.X="1e-5"', 'environment.Y="yes"', 'environment.Z="a\\nb"', 'environment.T="04"', "name=again"]
    loaded = load_recipe(variants() + ":override_big", sets)
    again = load_recipe(write(dump(loaded.source.root), "again.yaml"))
    assert again.recipe == loaded.recipe
    assert Path("again.yaml").read_text().startswith("schema: 2\n")
