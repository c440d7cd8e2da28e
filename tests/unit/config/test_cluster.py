"""The cluster file: discovery, variables, checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inferlane.config import FileRefused, LoadedCluster, load_cluster

Load = Callable[..., LoadedCluster]


def test_an_outdated_key_is_refused_and_no_default_stands_in(cluster: Load) -> None:
    with pytest.raises(FileRefused) as caught:
        cluster("name: testc\npartiton: gpu\ngpus_per_node: 8\n")
    assert str(caught.value) == "cluster.yaml:2:1: partiton: unknown key; did you mean 'default_partition'?"
    assert caught.value.problems[0].where == "cluster:partiton"
    assert caught.value.exit_code == 2


def test_an_unknown_key_at_depth_is_refused(cluster: Load) -> None:
    with pytest.raises(FileRefused, match=r"default_host_setup\.comands: unknown key; did you mean 'commands'"):
        cluster("default_host_setup: {comands: [x]}\n")


def test_an_absent_exporter_differs_from_none(cluster: Load) -> None:
    assert "default_gpu_exporter" not in cluster("name: a\n").cluster.model_fields_set
    assert "default_gpu_exporter" in cluster("default_gpu_exporter: null\n").cluster.model_fields_set


def test_variables_expand_in_values_and_keys_and_two_dollars_are_one(cluster: Load) -> None:
    text = 'default_mounts: {"${ROOT}/x": /x}\ndefault_bash_preamble: "echo $$A $B $${C}"\ngpus_per_node: ${N}\n'
    loaded = cluster(text, {"ROOT": "/r", "N": "4"})
    assert loaded.cluster.default_mounts == {"/r/x": "/x"}
    assert loaded.cluster.default_bash_preamble == "echo $A $B ${C}"
    assert loaded.cluster.gpus_per_node == 4
    assert not loaded.unresolved


def test_an_unset_variable_is_recorded_once_with_its_place(cluster: Load) -> None:
    loaded = cluster("name: a\nmodel_paths: {a: '${ROOT}/a', b: '${ROOT}/b'}\ndefault_time_limit: ${LIMIT}\n")
    first, second = loaded.unresolved
    assert first.where == "cluster:model_paths.a"
    assert "ROOT is not set (nor for 1 more places)" in first.message
    assert second.where == "cluster:default_time_limit"
    assert loaded.cluster.default_time_limit is None


def test_a_value_without_variables_is_still_checked_beside_an_unset_one(cluster: Load) -> None:
    with pytest.raises(FileRefused, match=r"cluster\.yaml:2:16: gpus_per_node"):
        cluster("default_time_limit: ${LIMIT}\ngpus_per_node: x\n")


def test_a_secret_of_the_cluster_stays_a_reference(cluster: Load) -> None:
    loaded = cluster(
        "environment: {HF_TOKEN: '${HF_TOKEN}', HOME_DIR: '${HOME}/x'}\n", {"HF_TOKEN": "tok-123", "HOME": "/h"}
    )
    assert loaded.cluster.environment == {"HF_TOKEN": "${HF_TOKEN}", "HOME_DIR": "/h/x"}
    assert loaded.references == ("HF_TOKEN",)
    assert "tok-123" not in repr(loaded)


def test_an_expanded_secret_never_enters_a_message(cluster: Load) -> None:
    text = "gpus_per_node: ${HF_TOKEN}\nenvironment: {BAD-KEY: '${HF_TOKEN}', 'x${HF_TOKEN}': 'x'}\n"
    with pytest.raises(FileRefused) as caught:
        cluster(text, {"HF_TOKEN": "tok-123"})
    assert "gpus_per_node: must be a whole number, not '***'" in str(caught.value)
    assert "tok-123" not in str(caught.value)


def test_inert_keys_are_listed_and_neutral_refusals_pass(cluster: Load) -> None:
    loaded = cluster("srtctl_root: ${NOT_SET}\nnginx_raise_ulimit: false\nuse_het_jobs: false\npreflight: true\n")
    assert set(loaded.inert) == {"srtctl_root", "nginx_raise_ulimit", "use_het_jobs", "preflight"}
    assert not loaded.unresolved


def test_what_would_change_the_run_is_refused_by_name(cluster: Load) -> None:
    with pytest.raises(FileRefused, match=r"cluster.yaml:1:1: use_het_jobs: not supported yet \(true\)"):
        cluster("use_het_jobs: true\n")


def test_an_older_vendor_word_names_the_mask_variable(cluster: Load) -> None:
    assert cluster("accelerator_vendor: amd\n").cluster.visible_devices_env == "ROCR_VISIBLE_DEVICES"
    both = "accelerator_vendor: amd\nvisible_devices_env: MY_DEVICES\n"
    assert cluster(both).cluster.visible_devices_env == "MY_DEVICES"
    with pytest.raises(FileRefused, match="must be amd or nvidia"):
        cluster("accelerator_vendor: other\n")


def test_either_word_names_the_site_and_an_empty_interface_is_none(cluster: Load) -> None:
    assert cluster("cluster: here\nnetwork_interface: ''\n").cluster.name == "here"
    assert cluster("name: here\nnetwork_interface:\n").cluster.network_interface is None


# ---- discovery -------------------------------------------------------------------------------------


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """A folder two below the root of the test, with a cluster file of each name at several places."""
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    for name in ("asked", "ours", "theirs"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\n")
    return here


def test_discovery_prefers_the_option_then_our_variable_then_theirs(sites: Path) -> None:
    root = sites.parent.parent
    environ = {"INFERLANE_CLUSTER": str(root / "ours.yaml"), "SRTSLURM_CONFIG": str(root / "theirs.yaml")}
    (sites / "inferlane.yaml").write_text("name: found\n")
    assert load_cluster(root / "asked.yaml", environ, sites).cluster.name == "asked"
    assert load_cluster(None, environ, sites).cluster.name == "ours"
    del environ["INFERLANE_CLUSTER"]
    assert load_cluster(None, environ, sites).cluster.name == "theirs"
    assert load_cluster(None, {}, sites).cluster.name == "found"


def test_discovery_looks_in_the_folder_and_two_parents_ours_first(sites: Path) -> None:
    root = sites.parent.parent
    (root / "srtslurm.yaml").write_text("name: top\n")
    assert load_cluster(None, {}, sites).cluster.name == "top"
    (sites.parent / "srtslurm.yaml").write_text("name: middle\n")
    assert load_cluster(None, {}, sites).cluster.name == "middle"
    (sites.parent / "inferlane.yaml").write_text("name: ours\n")
    assert load_cluster(None, {}, sites).cluster.name == "ours"
    (sites / "deeper").mkdir()
    (root / "srtslurm.yaml").rename(root.parent / f"{root.name}-not-looked-at")
    assert load_cluster(None, {}, sites / "deeper").cluster.name == "ours"


def test_without_a_file_the_cluster_is_empty(sites: Path) -> None:
    loaded = load_cluster(None, {"INFERLANE_CLUSTER": ""}, sites)
    assert loaded.file is None
    assert loaded.cluster.gpus_per_node is None


@pytest.mark.parametrize("name", ["INFERLANE_CLUSTER", "SRTSLURM_CONFIG"])
def test_a_variable_that_names_a_missing_file_is_refused(sites: Path, name: str) -> None:
    (sites / "inferlane.yaml").write_text("name: found\n")
    with pytest.raises(FileRefused, match=f"gone.yaml: no such file, but {name} names it"):
        load_cluster(None, {name: "gone.yaml"}, sites)


def test_a_missing_file_of_the_option_is_refused(sites: Path) -> None:
    with pytest.raises(FileRefused, match=r"gone\.yaml: no such file"):
        load_cluster("gone.yaml", {}, sites)
