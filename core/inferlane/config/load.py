"""``load_recipe``: file, variant and edits to a checked recipe that knows where each of its values was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from inferlane.config.checks import disagreements
from inferlane.config.edits import edit
from inferlane.config.faults import Fault, FileRefused
from inferlane.config.fields import REFERENCE
from inferlane.config.files import read
from inferlane.config.keys import Kind, known_beside, sort_keys
from inferlane.config.nodes import Mark, Node, find, nearest, plain, walk
from inferlane.config.paths import join, split
from inferlane.config.recipe import Recipe
from inferlane.config.source import SourceMap
from inferlane.config.translate import Complaint, complaints
from inferlane.config.variants import select, split_reference

M = TypeVar("M", bound=BaseModel)

_ENVIRONMENTS = frozenset({"environment", "env"})


class LoadedRecipe(msgspec.Struct, frozen=True):
    """``source.root``: the one variant with its edits, as the file says it. ``inert``: paths without effect here.
    ``references``: variables that whole environment values refer to as ``${NAME}``, sorted.
    """

    recipe: Recipe
    source: SourceMap
    file: str
    inert: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def load_recipe(reference: str, sets: Sequence[str] = (), unsets: Sequence[str] = ()) -> LoadedRecipe:
    """Load ``file.yaml``, or one variant of it as ``file.yaml:override_x``, with ``--set`` and ``--unset`` applied.

    Raises :class:`~inferlane.errors.Refused` with every fault found, or ``UsageFault`` for a selector.
    """
    path, selector = split_reference(reference)
    file = str(path)
    root = select(read(path, file), selector, file)
    return recipe_from(edit(root, sets, unsets), file)


def recipe_from(root: Node, file: str) -> LoadedRecipe:
    """The checked recipe of a tree."""
    _require_schema(root)
    sorted_keys = sort_keys(root, "recipe")
    recipe, faults = validate(Recipe, sorted_keys.root, "recipe")
    faults += sorted_keys.faults
    if recipe is not None:
        faults += faults_of(disagreements(recipe), sorted_keys.root)
    if faults or recipe is None:
        raise FileRefused(_spelled(faults, sorted_keys.spellings), root=sorted_keys.root)
    source = SourceMap(sorted_keys.root, "recipe", sorted_keys.spellings)
    return LoadedRecipe(recipe, source, file, sorted_keys.inert, references(sorted_keys.root))


def validate(model: type[M], root: Node, kind: Kind) -> tuple[M | None, list[Fault]]:
    """The model's value, or faults with positions."""
    block = plain(root)
    try:
        return model.model_validate(block), []
    except ValidationError as error:
        return None, faults_of(complaints(error, block, model, known_beside(kind, root)), root)


def faults_of(found: Iterable[Complaint], root: Node) -> list[Fault]:
    """Complaints with the position of the key, or of the value where that is what is wrong."""
    faults: list[Fault] = []
    for complaint in found:
        node = find(root, complaint.path)
        mark = _mark(root, node, complaint)
        faults.append(Fault(mark, complaint.path, complaint.message))
    return faults


def _mark(root: Node, node: Node | None, complaint: Complaint) -> Mark:
    if node is None:
        return nearest(root, complaint.path).key
    block = isinstance(node.value, dict | list)
    return node.key if complaint.about_key or block else node.mark


def references(root: Node) -> tuple[str, ...]:
    """Names in environment values that are one whole ``${NAME}``."""
    names: set[str] = set()
    for path, node in walk(root):
        if len(path) > 1 and path[-2] in _ENVIRONMENTS and isinstance(node.value, str):
            match = REFERENCE.fullmatch(node.value)
            if match and "args" not in path:
                names.add(match[1])
    return tuple(sorted(names))


def _require_schema(root: Node) -> None:
    schema = find(root, ("schema",))
    if schema is not None and schema.value != 1:
        return
    backend = find(root, ("backend",))
    here = schema or backend or root
    if schema is not None or backend is not None:
        message = (
            "this is the older recipe format (schema 1); convert it with 'srtctl migrate', or by hand: the backend "
            "block becomes engine and roles, and 'schema: 2' goes first"
        )
    else:
        message = "missing; write 'schema: 2' as the first line"
    raise FileRefused([Fault(here.key, ("schema",), message)])


def _spelled(faults: Sequence[Fault], spellings: Mapping[str, str]) -> list[Fault]:
    """The same faults with paths as the user wrote them."""
    source = SourceMap(Node(None, Mark(""), Mark("")), "recipe", spellings)
    return [Fault(f.mark, split(source.spelled(join(f.path))) if f.path else f.path, f.message) for f in faults]
