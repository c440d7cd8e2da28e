"""Docstrings become Markdown."""

from __future__ import annotations

from inferlane.plugins.reference import hook_reference, markdown


def test_an_example_block_becomes_a_fence_and_literals_become_code() -> None:
    text = """What ``x`` is, see :mod:`inferlane.api`.

    Example::

        if x:
            y()

    After.
    """

    assert markdown(text) == (
        "What `x` is, see `inferlane.api`.\n\nExample:\n\n```python\nif x:\n    y()\n```\n\nAfter."
    )


def test_fences_of_the_reference_are_balanced() -> None:
    lines = hook_reference().splitlines()

    assert sum(line.startswith("```") for line in lines) % 2 == 0
    assert "::" not in "\n".join(lines)
