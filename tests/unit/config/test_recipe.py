"""What a recipe may say, and how it is told that it may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.config import LoadedRecipe

Load = Callable[..., LoadedRecipe]
Refuse = Callable[..., str]


def test_the_smallest_recipe_has_its_defaults(recipe: Load) -> None:
    loaded = recipe().recipe
    assert loaded.engine == {"type": "toy"}
    assert loaded.roles["agg"].workers == 1
    assert (loaded.health_check.max_attempts, loaded.health_check.interval_seconds) == (180, 10)
    assert loaded.benchmark is None
    assert loaded.strict_flags == "warn"


def test_an_unknown_key_is_refused_with_position_path_and_suggestion(refused: Refuse) -> None:
    assert refused("    arg: {x: 1}\n") == "recipe.yaml:11:5: roles.agg.arg: unknown key; did you mean 'args'?"


def test_an_unknown_key_without_a_near_one_lists_what_is_known(refused: Refuse) -> None:
    message = refused("slurm: {queue: x}\n")
    assert "known here: account, partition, time_limit" in message


def test_all_faults_come_at_once_in_order_of_position(refused: Refuse) -> None:
    lines = refused("    workers: none\n    env: {A: 1}\nhealth: {}\nstrict_flags: maybe\n").splitlines()
    assert [line.split(":")[1] for line in lines] == ["11", "12", "13", "14"]


def test_the_older_format_is_named_with_the_way_out(refused: Refuse) -> None:
    message = refused(text="name: x\nbackend: {type: toy}\n")
    assert "older recipe format" in message
    assert "migrate" in message
    assert "\n" not in message


def test_a_file_without_schema_is_told_to_write_it(refused: Refuse) -> None:
    assert "schema: missing; write 'schema: 2'" in refused(text="name: x\n")


def test_another_schema_is_refused(refused: Refuse) -> None:
    assert "recipe.yaml:1:9: schema: must be 2" in refused(sets=("name=x",), text="schema: 3\nname: y\n")


@pytest.mark.parametrize("text", ["4:00:00", '"4:00:00"', "04:00:00"])
def test_every_spelling_of_four_hours_stays_what_was_written(recipe: Load, text: str) -> None:
    assert recipe(f"slurm: {{time_limit: {text}}}\n").recipe.slurm.time_limit == text.strip('"')


@pytest.mark.parametrize("text", ["3600", "3600.0", '"90"', "true", "1h"])
def test_a_limit_without_a_unit_never_passes(refused: Refuse, text: str) -> None:
    message = refused(f"slurm: {{time_limit: {text}}}\n")
    assert "slurm.time_limit" in message
    assert "H:MM:SS" in message


@pytest.mark.parametrize("text", ["30:00", "1:30", "1-00:00:00", "2-12"])
def test_other_forms_of_the_scheduler_are_kept_as_text(recipe: Load, text: str) -> None:
    assert recipe(f"slurm: {{time_limit: {text}}}\n").recipe.slurm.time_limit == text


@pytest.mark.parametrize("name", [r'"demo\n#SBATCH --partition=other"', '"../../demo"', "a/b", ".x", "a..b", "x" * 101])
def test_a_name_that_could_change_a_script_or_folder_is_refused(refused: Refuse, name: str) -> None:
    rest = "model: {path: m}\nfrontend: {type: none}\nengine: toy\nroles: {agg: {nodes: 1}}\n"
    text = f"schema: 2\nname: {name}\n{rest}"
    assert "recipe.yaml:2:7: name:" in refused(text=text)


def test_environment_values_are_kept_byte_for_byte(recipe: Load) -> None:
    loaded = recipe("""environment: {A: "x y; $(touch pwned)", J: '{"k": "v w"}'}\n""").recipe
    assert loaded.environment == {"A": "x y; $(touch pwned)", "J": '{"k": "v w"}'}


@pytest.mark.parametrize(("text", "advice"), [("8", '"8"'), ("true", '"true"'), ("0.5", '"0.5"')])
def test_an_environment_value_that_is_not_text_is_refused_with_the_spelling(
    refused: Refuse, text: str, advice: str
) -> None:
    assert f"environment.A: must be text; write {advice}" in refused(f"environment: {{A: {text}}}\n")


@pytest.mark.parametrize("block", ["environment", "frontend.env", "services[0].env", "benchmark.env", "roles.agg.env"])
def test_every_environment_has_the_same_rules(refused: Refuse, block: str) -> None:
    more = "services: [{type: generic, command: [x]}]\nbenchmark: {type: manual}\n"
    message = refused(more, sets=(f'{block}={{"1A": "x", B: 3}}',))
    assert "is not a variable name" in message
    assert 'write "3"' in message


def test_null_removes_a_variable_and_an_empty_block_is_no_fault(recipe: Load) -> None:
    loaded = recipe("    env:\n    args:\nenvironment: {A: null}\n").recipe
    assert loaded.environment == {"A": None}
    assert loaded.roles["agg"].env == {}
    assert loaded.roles["agg"].args == {}


def test_a_plugin_block_loses_empty_args_and_env_and_keeps_other_nulls(recipe: Load) -> None:
    loaded = recipe(sets=("frontend.env=", "frontend.args=", "engine={type: toy, connector: null}")).recipe
    assert loaded.frontend == {"type": "none"}
    assert loaded.engine == {"type": "toy", "connector": None}


def test_a_secret_never_enters_a_message(refused: Refuse) -> None:
    message = refused("environment: {HF_TOKEN: 123456789, MAX_TOKENS_PER_RANK: 5}\n")
    assert "123456789" not in message
    assert "HF_TOKEN" in message
    assert '"5"' in message


@pytest.mark.parametrize("text", ["0123456", "[123456]", "{a: 123456}"])
def test_a_secret_of_the_wrong_shape_is_masked_too(refused: Refuse, text: str) -> None:
    assert "123456" not in refused(f"environment: {{HF_TOKEN: {text}}}\n")


def test_whole_references_are_listed_and_left_alone(recipe: Load) -> None:
    loaded = recipe('environment: {HF_TOKEN: "${HF_TOKEN}", NOT: "a ${B}", RAW: "$C"}\nbenchmark: {env: {X: "${Y}"}}\n')
    assert loaded.references == ("HF_TOKEN", "Y")
    assert loaded.recipe.environment["HF_TOKEN"] == "${HF_TOKEN}"


def test_an_absent_router_type_lists_what_is_installed(refused: Refuse) -> None:
    message = refused(sets=("frontend={}",))
    assert "frontend.type: missing" in message
    assert "none" in message.partition("(installed: ")[2].partition(")")[0].split(", ")


def test_an_absent_router_block_is_refused(refused: Refuse) -> None:
    assert "frontend: missing" in refused(unsets=("frontend",))


def test_an_engine_is_named_once_or_by_every_role(refused: Refuse, recipe: Load) -> None:
    two = ("roles={prefill: {nodes: 1, engine: a}, decode: {nodes: 1}}",)
    assert "roles.prefill.engine: the recipe names an engine" in refused(sets=two)
    assert "roles.decode.engine: missing" in refused(sets=two, unsets=("engine",))
    assert "engine: missing" in refused(unsets=("engine",))
    both = ("roles={prefill: {nodes: 1, engine: a}, decode: {nodes: 1, engine: {type: b}}}",)
    loaded = recipe(sets=both, unsets=("engine",)).recipe
    assert loaded.roles["decode"].engine == {"type": "b"}


def test_colocation_needs_both_sides_to_state_their_gpus(refused: Refuse, recipe: Load) -> None:
    roles = "roles={{prefill: {{nodes: 1, gpus: 1}}, decode: {{nodes: colocate{}}}}}"
    assert "roles.decode.gpus: missing; decode shares" in refused(sets=(roles.format(""),))
    assert recipe(sets=(roles.format(", gpus: 1"),)).recipe.roles["decode"].nodes == "colocate"
    assert "colocate is for decode" in refused(sets=("roles.agg.nodes=colocate",))


def test_an_unknown_role_is_refused(refused: Refuse) -> None:
    message = refused(sets=("roles={decoder: {nodes: 1}}",))
    assert "roles.decoder: must be 'prefill', 'decode' or 'agg'" in message


def test_numbers_must_be_numbers(refused: Refuse, recipe: Load) -> None:
    assert "roles.agg.workers: must be a whole number, not true" in refused(sets=("roles.agg.workers=true",))
    assert "roles.agg.nodes: must be at least 1" in refused(sets=("roles.agg.nodes=0",))
    assert recipe(sets=('roles.agg.workers="3"',)).recipe.roles["agg"].workers == 3


@pytest.mark.parametrize("port", ["80", "40000", "x"])
def test_a_port_base_is_checked(refused: Refuse, port: str) -> None:
    assert 'ports."toy.http"' in refused(sets=(f'ports={{"toy.http": {port}}}',))


def test_a_port_base_is_kept(recipe: Load) -> None:
    assert recipe(sets=('ports={"toy.http": 6200}',)).recipe.ports == {"toy.http": 6200}


def test_directive_values_stay_on_one_line(refused: Refuse) -> None:
    message = refused('sbatch_directives: {comment: "a\\n#SBATCH -p x", mem: 0, "bad name": ""}\n')
    assert "sbatch_directives.comment: may not hold line breaks" in message.replace("'a\\n#SBATCH -p x' ", "")
    assert 'sbatch_directives.mem: must be text; write "0"' in message
    assert "is not an option name" in message


def test_a_mount_without_two_sides_is_refused_at_its_place(refused: Refuse) -> None:
    message = refused("extra_mount: ['/a:/b:ro', /a]\n")
    assert "recipe.yaml:11:27: extra_mount[1]: '/a' is not a mount" in message


def test_an_unknown_key_in_an_exporter_lists_the_known_ones(refused: Refuse) -> None:
    message = refused("telemetry: {default_gpu_exporter: {zzz: 1}}\n")
    assert "telemetry.default_gpu_exporter.zzz: unknown key; known here: command, container_image" in message


def test_services_and_benchmark_have_a_default_type(recipe: Load) -> None:
    loaded = recipe("services: [{command: [x]}]\nbenchmark: {}\n").recipe
    assert loaded.services[0]["type"] == "generic"
    assert loaded.benchmark == {"type": "manual"}


def test_a_recipe_of_services_alone_loads_and_an_empty_one_does_not(recipe: Load, refused: Refuse) -> None:
    assert not recipe("services: [{command: [x]}]\n", unsets=("roles", "engine")).recipe.roles
    assert "nothing to run" in refused(unsets=("roles", "engine"))


def test_loading_changes_nothing_twice(recipe: Load) -> None:
    assert recipe("    env: {A: '1'}\n").recipe == recipe("    env: {A: '1'}\n").recipe
