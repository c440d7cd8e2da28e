"""Variants, selectors, and edits from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inferlane.config import FileRefused, LoadedRecipe, choose_variants, dump, load_recipe
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
ZIP = "zip_override_g: {name: [one, two]}\n"


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


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("overide_x", "override_x"),
        ("override-x", "override_x"),
        ("overrides_x", "override_x"),
        ("Override_x", "override_x"),
        ("zip_overide_x", "zip_override_x"),
        ("zip-override_x", "zip_override_x"),
        ("zipoverride_x", "zip_override_x"),
        ("override", "override_<name>"),
        ("bas", "base"),
        ("schma", "schema"),
    ],
)
def test_a_misspelt_variant_key_is_refused_with_the_right_one(variants: Write, key: str, meant: str) -> None:
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants(VARIANTS + f"{key}: {{name: x}}\n") + ":override_big")
    assert str(caught.value) == f"v.yaml:20:1: {key}: unknown key; did you mean '{meant}'?"


def test_what_stands_beside_the_base_is_moved_into_it(variants: Write) -> None:
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants(VARIANTS + "engine: toy\nsweep: {tp: [1, 2]}\n") + ":override_big")
    assert str(caught.value).splitlines() == [
        "v.yaml:20:1: engine: unknown key beside 'base'; move it into 'base', or into an 'override_<name>' block",
        "v.yaml:21:1: sweep: not supported yet; write its points as lists of a zip_override_<name> block beside base, "
        "or use --set",
    ]


def test_faults_of_the_blocks_and_of_the_variant_come_at_once(variants: Write) -> None:
    text = VARIANTS.replace("nodes: 2", "nods: 2") + "overide_x: {name: x}\n"
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants(text) + ":override_big")
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == ["roles.agg.nods", "overide_x"]


def test_a_file_with_only_misspelt_variant_keys_is_one_of_variants(variants: Write) -> None:
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants("schema: 2\nbse: {name: x}\noveride_x: {name: y}\n"))
    assert str(caught.value).splitlines() == [
        "v.yaml:1:1: variants need a 'base' block; did you mean it by 'bse'?",
        "v.yaml:3:1: overide_x: unknown key; did you mean 'override_x'?",
    ]
    with pytest.raises(FileRefused, match="need a 'base' block; move the keys that they share into it"):
        load_recipe(variants("schema: 2\nname: x\noverride_x: {name: y}\n"))


def test_a_plain_recipe_with_such_a_key_stays_a_plain_recipe(refused: Callable[..., str]) -> None:
    assert "recipe.yaml:11:1: overide_x: unknown key" in refused("overide_x: {name: y}\n")


def test_the_schema_beside_the_base_is_that_of_every_variant(variants: Write) -> None:
    inner = VARIANTS.removeprefix("schema: 2\n").replace("  name: demo", "  schema: 2\n  name: demo")
    assert load_recipe(variants(inner) + ":override_big").recipe.name == "demo_big"
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants(VARIANTS.removeprefix("schema: 2\n")))
    assert str(caught.value) == "v.yaml:1:1: schema: missing; write 'schema: 2' as the first line"


def test_a_file_of_the_older_format_is_told_so_before_its_variants(variants: Write) -> None:
    text = "base: {name: x, backend: {type: toy}}\noverride_a: {name: y}\nzip_override_b: {name: [z]}\n"
    for reference in (variants(text), "v.yaml:override_a", "v.yaml:nothing"):
        with pytest.raises(FileRefused, match=r"\(schema 1\)") as caught:
            load_recipe(reference)
        assert len(str(caught.value).splitlines()) == 1


def test_a_misspelt_key_that_an_override_would_delete_is_refused(variants: Write) -> None:
    text = VARIANTS.replace("override_named:\n", "override_named:\n  benchmrk: null\n  roles: {agg: {workrs: null}}\n")
    with pytest.raises(FileRefused) as caught:
        load_recipe(variants(text) + ":override_named")
    assert str(caught.value).splitlines() == [
        "v.yaml:19:3: benchmrk: unknown key; did you mean 'benchmark'?",
        "v.yaml:20:17: roles.agg.workrs: unknown key; did you mean 'workers'?",
    ]


def test_deleting_what_the_base_does_not_have_is_no_fault(variants: Write) -> None:
    more = (
        "  benchmark: null\n  sweep: null\n  environment: {Z: null}\n  roles: {agg: {gpus: null, args: {zz: null}}}\n"
    )
    text = VARIANTS.replace("override_named:\n", "override_named:\n" + more)
    assert load_recipe(variants(text) + ":override_named").recipe.roles["agg"].gpus is None


def test_blocks_left_empty_change_nothing(variants: Write) -> None:
    text = VARIANTS.replace("override_named:\n", "override_named:\n  resources: {}\n  roles: {}\n  environment: {}\n")
    loaded = load_recipe(variants(text) + ":override_named")
    assert loaded.recipe.environment == {"A": "1", "B": "2"}
    assert loaded.inert == ()


def test_variants_without_a_base_are_refused(variants: Write) -> None:
    with pytest.raises(FileRefused, match="need a 'base' block; did you mean it by 'bse'"):
        load_recipe(variants(VARIANTS.replace("base:", "bse:")))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("override_bgi", "v.yaml has no variant 'override_bgi'; did you mean 'override_big'? {has}"),
        ("big", "v.yaml has no variant 'big'; did you mean 'override_big'? {has}"),
        ("g", "v.yaml has no variant 'g'; did you mean 'zip_override_g'? {has}"),
        ("zzz", "v.yaml has no variant 'zzz'. {has}"),
        ("*zzz", "no variant of v.yaml matches '*zzz'. {has}"),
        pytest.param(f"{'*' * 60}z", f"no variant of v.yaml matches '{'*' * 60}z'. {{has}}", id="in bounded time"),
        ("*[!x]", "no variant of v.yaml matches '*[!x]'. {has}"),
        ("bas?", "no variant of v.yaml matches 'bas?'. {has}"),
        ("zip_override_g[2]", "v.yaml:zip_override_g has 2 variants, [0] to [1], and no '[2]'. {has}"),
        ("override_big[0]", "v.yaml:override_big is one variant and has no positions; leave out '[0]'. {has}"),
        ("*", "v.yaml:* selects 4 variants; name one: {all}"),
        ("override_*", "v.yaml:override_* selects 2 variants; name one: :override_big, :override_named"),
        (
            "zip_override_g",
            "v.yaml:zip_override_g selects 2 variants; name one: :zip_override_g[0], :zip_override_g[1]",
        ),
    ],
)
def test_a_selector_that_does_not_select_one_says_why(variants: Write, selector: str, words: str) -> None:
    names = ":override_big, :override_named, :zip_override_g[0], :zip_override_g[1]"
    with pytest.raises(UsageFault) as caught:
        load_recipe(f"{variants(VARIANTS + ZIP)}:{selector}")
    assert str(caught.value) == words.format(has=f"It has: :base, {names}", all=names)


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("", ["override_big", "override_named", "zip_override_g[0]", "zip_override_g[1]"]),
        (":*", ["override_big", "override_named", "zip_override_g[0]", "zip_override_g[1]"]),
        (":base", ["base"]),
        (":override_*", ["override_big", "override_named"]),
        (":*named", ["override_named"]),
        (":override_?ig", ["override_big"]),
        (":zip_override_g", ["zip_override_g[0]", "zip_override_g[1]"]),
        (":zip_override_?", ["zip_override_g[0]", "zip_override_g[1]"]),
        (":zip*[1]", ["zip_override_g[1]"]),
    ],
)
def test_selectors_and_globs_choose_variants_in_the_order_of_the_file(
    variants: Write, selector: str, chosen: list[str]
) -> None:
    found = choose_variants(variants(VARIANTS + ZIP) + selector)
    assert [variant.name for variant in found.variants] == chosen


def test_long_groups_are_listed_short(variants: Write) -> None:
    variants(VARIANTS + f"zip_override_long: {{name: [{', '.join(f'n{i}' for i in range(20))}]}}\n")
    with pytest.raises(
        FileRefused, match=r":zip_override_long\[0\], :zip_override_long\[1\] … :zip_override_long\[19\]$"
    ):
        load_recipe("v.yaml")


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


def test_faults_of_edits_come_with_those_of_the_file(refused: Callable[..., str]) -> None:
    lines = refused("benchmrk: {}\n", sets=("roles.agg.workers", "name=a b"), unsets=("roles.agg.gpu",)).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["--set", "'roles.agg.workers' has no value; write --set roles.agg.workers=value"],
        ["--set", "name"],
        ["--unset", "roles.agg.gpu"],
        ["recipe.yaml:11:1", "benchmrk"],
    ]


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
