"""``load_recipe``: file, variant and edits to a checked recipe that knows where each of its values was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from inferlane.config.checks import disagreements
from inferlane.config.deletions import unknown_deletions
from inferlane.config.edits import edit, relevant
from inferlane.config.faults import Fault, FileRefused
from inferlane.config.fields import REFERENCE
from inferlane.config.files import read
from inferlane.config.keys import Kind, known_beside, sort_keys
from inferlane.config.nodes import Mark, Node, find, nearest, plain, walk
from inferlane.config.paths import join, split
from inferlane.config.recipe import Recipe
from inferlane.config.selectors import choose, choose_one
from inferlane.config.source import SourceMap
from inferlane.config.translate import Complaint, complaints
from inferlane.config.variants import Document, Variant, document, schema_holder, split_reference

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

    Raises :class:`~inferlane.errors.Refused` with every fault found, or ``UsageFault`` for a selector, or if several
    variants are meant.
    """
    found, selector = _open(reference)
    if found.faults and selector is None:
        raise FileRefused(found.faults)
    variant = choose_one(found, selector)
    if variant is None:
        raise FileRefused(found.faults)
    return _beside(found.faults, lambda: load_variant(found.file, variant, sets, unsets))


class Chosen(NamedTuple):
    """The variants that a reference means, not yet checked. ``faults``: of the file's blocks as such. ``unsets``: of
    each variant, those that concern it: a path needs to be set in one of them only.
    """

    file: str
    variants: tuple[Variant, ...]
    unsets: tuple[tuple[str, ...], ...]
    faults: tuple[Fault, ...] = ()


def choose_variants(reference: str, unsets: Sequence[str] = ()) -> Chosen:
    """Every variant that ``file.yaml`` or ``file.yaml:selector`` means; raises as :func:`load_recipe`, but for what is
    wrong inside a variant, or in blocks beside those that could be put together.
    """
    found, selector = _open(reference)
    variants = choose(found, selector)
    if not variants:
        raise FileRefused(found.faults)
    if not unsets:
        return Chosen(found.file, variants, ((),) * len(variants), found.faults)
    roots = [variant.root for variant in variants]
    return Chosen(found.file, variants, tuple(relevant(unsets, root, roots) for root in roots), found.faults)


def load_variant(file: str, variant: Variant, sets: Sequence[str], unsets: Sequence[str]) -> LoadedRecipe:
    """One variant with its edits, checked. Edits come last: they hold whatever base or override say."""
    root, faults = edit(variant.root, sets, unsets)
    return _beside((*unknown_deletions(variant), *faults), lambda: recipe_from(root, file))


def _beside(found: Iterable[Fault], load: Callable[[], LoadedRecipe]) -> LoadedRecipe:
    """What ``load`` gives; raises what was found already, with what it finds."""
    faults = tuple(found)
    try:
        loaded = load()
    except FileRefused as refused:
        raise FileRefused((*faults, *refused.faults), root=refused.root) from refused
    if faults:
        raise FileRefused(faults)
    return loaded


def _open(reference: str) -> tuple[Document, str | None]:
    path, selector = split_reference(reference)
    root = read(path, str(path))
    _require_schema(schema_holder(root))
    return document(root, str(path)), selector


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
