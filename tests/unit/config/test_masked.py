"""A recipe that is kept holds no literal secret and still loads."""

from __future__ import annotations

from pathlib import Path

from inferlane.config import dump, load_recipe, masked

RECIPE = """
schema: 2
name: demo
model: {path: hf:a/b}
resources: {gpus_per_node: 8}
engine: mock
environment: {HF_TOKEN: tok-123, OTHER_TOKEN: "${OTHER_TOKEN}", MAX_TOKENS: "5"}
roles:
  agg: {nodes: 1, workers: 1, gpus: 1}
frontend: {type: mock}
"""


def test_a_kept_recipe_loads_again_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(RECIPE)
    text = dump(masked(load_recipe(str(file)).source.root))
    assert "tok-123" not in text
    file.write_text(text)
    again = load_recipe(str(file)).recipe.environment
    assert again == {"HF_TOKEN": "***", "OTHER_TOKEN": "${OTHER_TOKEN}", "MAX_TOKENS": "5"}
