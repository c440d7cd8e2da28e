"""JSON Schema of recipe and cluster file, for editors: completion, explanations, and most mistakes as one types.

The loader is the judge: what it reads, the schema accepts, and it finds more.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import AliasChoices, BaseModel, BeforeValidator

from inferlane.config.cluster import Cluster
from inferlane.config.keys import Kind, load_rules
from inferlane.config.recipe import Recipe

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]
Models = Mapping[str, type[BaseModel] | None]
"""Type to the model of its block; ``None`` = a known type whose model is not at hand, so that anything goes."""

_DEFS = "#/$defs/"
_BLOCKS = {"engine": ("engine", None), "frontend": ("router", None), "benchmark": ("benchmark", "manual")}
"""Recipe key to the kind of plugin that reads it, and the type that holds where none is written."""


def cluster_schema() -> Schema:
    """The schema of cluster files."""
    schema = _of_model(Cluster)
    _add_known_keys(schema, "cluster")
    return {"$schema": DIALECT, **schema, "title": "inferlane cluster file"}


def recipe_schema(models: Mapping[str, Models]) -> Schema:
    """The schema of recipes. ``models``: kind (engine, router, service, benchmark) to its types."""
    schema = _of_model(Recipe)
    defs: Schema = schema.pop("$defs")
    for kind, types in models.items():
        for name, model in types.items():
            if model is not None:
                _add_model(defs, f"{kind}.{name}", model)
    properties = schema["properties"]
    for key, (kind, default) in _BLOCKS.items():
        properties[key] = _described(_union(kind, models[kind], default), properties[key])
    defs["RoleBlock"]["properties"]["engine"] = properties["engine"]
    one = _union("service", models["service"], "generic")
    properties["services"] = _described({"type": ["array", "null"], "items": one}, properties["services"])
    properties["schema"] = {"const": 2, "description": "always 2"}
    defs["Recipe"] = schema
    _add_known_keys({"$ref": f"{_DEFS}Recipe", "$defs": defs}, "recipe")
    defs["Base"] = {**copy.deepcopy(schema), "required": []}
    defs["Variants"] = _variants()
    choice = {"if": _variant_file(), "then": {"$ref": f"{_DEFS}Variants"}, "else": {"$ref": f"{_DEFS}Recipe"}}
    return {"$schema": DIALECT, "title": "inferlane recipe", "type": "object", **choice, "$defs": defs}


def _variant_file() -> Schema:
    return {"required": ["base"]}


def _variants() -> Schema:
    return {
        "type": "object",
        "description": "Several recipes in one file: base, and blocks that are merged over it.",
        "properties": {"schema": {"const": 2}, "base": {"$ref": f"{_DEFS}Base"}, "lock": {}},
        "patternProperties": {"^(zip_)?override_.+": {"type": "object"}},
        "additionalProperties": False,
    }


# ---- models ---------------------------------------------------------------------------------------------------------


def _of_model(model: type[BaseModel]) -> Schema:
    """The model's own schema, with the leniency of the loader: an empty key counts as absent."""
    schema: Schema = model.model_json_schema()
    _complete(schema, schema.get("$defs", {}), model)
    return schema


def _complete(schema: Schema, parts: Schema, model: type[BaseModel]) -> None:
    """Every spelling of a key, and null where that counts as absent."""
    models = {found.__name__: found for found in _models_in(model)}
    for name, part in {**parts, model.__name__: schema}.items():
        if name in models:
            _spell(part, models[name])
        _relax(part)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models_in(field.annotation)
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _spell(part: Schema, model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            known = part["properties"].get(str(field.validation_alias.choices[0]), {})
            for alias in (name, *field.validation_alias.choices):
                part["properties"].setdefault(str(alias), dict(known))


def _relax(part: Schema) -> None:
    required = part.get("required", ())
    for name, item in part.get("properties", {}).items():
        item.pop("title", None)
        block = "$ref" in item or item.get("type") in ("object", "array")
        if block and name not in required:
            described = {key: item.pop(key) for key in ("description", "default") if key in item}
            part["properties"][name] = {"anyOf": [item, {"type": "null"}], **described}


def _add_model(defs: Schema, name: str, model: type[BaseModel]) -> None:
    """A plugin's model as ``name``, its parts as ``name.Part``."""
    schema: Schema = model.model_json_schema(ref_template=f"{_DEFS}{name}.{{model}}")
    parts: Schema = schema.pop("$defs", {})
    _complete(schema, parts, model)
    defs.update({f"{name}.{part}": inner for part, inner in parts.items()})
    for key in _read_by_code(model) & set(schema["properties"]):
        schema["properties"][key] = _described({}, schema["properties"][key])
    schema["properties"].pop("type", None)
    schema["properties"] = {"type": {"const": name.partition(".")[2]}, **schema["properties"]}
    schema["required"] = [key for key in schema.get("required", ()) if key != "type"]
    defs[name] = schema


def _read_by_code(model: type[BaseModel]) -> set[str]:
    """Fields whose plugin turns what is written into a value first: only it knows what it takes."""
    fields = {
        name
        for name, field in model.model_fields.items()
        if any(isinstance(part, BeforeValidator) for part in field.metadata)
    }
    for validator in model.__pydantic_decorators__.field_validators.values():
        if validator.info.mode == "before":
            fields |= set(validator.info.fields)
    return fields


def _union(kind: str, types: Models, default: str | None) -> Schema:
    """One block by its ``type``; as conditions, so that an editor complains of the one that was meant."""
    block: Schema = {
        "type": "object",
        "properties": {"type": {"enum": sorted(types)}},
        "allOf": [_case(kind, name, name == default) for name, model in types.items() if model is not None],
    }
    if default is None:
        block["required"] = ["type"]
    others: list[Schema] = [{"enum": sorted(types)}] if kind == "engine" else []
    nothing: list[Schema] = [] if kind in ("router", "service") else [{"type": "null"}]
    return {"anyOf": [block, *others, *nothing]} if others or nothing else block


def _case(kind: str, name: str, default: bool) -> Schema:
    meant: Schema = {"properties": {"type": {"const": name}}}
    if not default:
        meant["required"] = ["type"]
    return {"if": meant, "then": {"$ref": f"{_DEFS}{kind}.{name}"}}


def _described(schema: Schema, old: Mapping[str, Any]) -> Schema:
    return {**schema, **({"description": old["description"]} if "description" in old else {})}


# ---- keys that have no field ----------------------------------------------------------------------------------------


def _add_known_keys(schema: Schema, kind: Kind) -> None:
    """Keys that are read under another name, or have no effect, or are refused unless they say nothing."""
    rules = load_rules(kind)
    for path, rule in rules["unsupported"].items():
        if "neutral_if" not in rule and "neutral" in rule:
            _put(schema, path, {"enum": rule["neutral"], "description": "not supported yet"})
    refused = {path for path, rule in rules["unsupported"].items() if not {"neutral", "neutral_if"} & set(rule)}
    for path in rules["inert"]:
        if path in refused:
            continue
        _put(schema, path, {"description": "read without effect"})
    for path, ours in rules["spellings"].items():
        _put(schema, path, {"description": f"the same as {ours}"})
    for path, meanings in rules.get("translations", {}).items():
        _put(schema, path, {"enum": [*meanings, None]})


def _put(schema: Schema, path: str, new: Schema) -> None:
    *parents, name = path.split(".")
    for block in _below([schema], parents, schema["$defs"]):
        if "properties" in block and name not in block["properties"]:
            block["properties"][name] = new


def _below(blocks: Iterable[Schema], path: list[str], defs: Schema) -> Iterator[Schema]:
    """Every object schema that may stand at ``path``."""
    found = [block for one in blocks for block in _plain(one, defs)]
    if not path:
        yield from found
        return
    for block in found:
        below = block.get("additionalProperties") if path[0] == "*" else block.get("properties", {}).get(path[0])
        if isinstance(below, dict):
            yield from _below([below], path[1:], defs)


def _plain(schema: Schema, defs: Schema) -> Iterator[Schema]:
    """The schema itself, and those it refers to or chooses among."""
    if "$ref" in schema:
        yield from _plain(defs[schema["$ref"].removeprefix(_DEFS)], defs)
    for choice in schema.get("anyOf", ()):
        yield from _plain(choice, defs)
    for case in schema.get("allOf", ()):
        yield from _plain(case["then"], defs)
    if "properties" in schema or "additionalProperties" in schema:
        yield schema
