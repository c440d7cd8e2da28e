"""Tables of the keys of a block, from its model, for the generated references of recipe, cluster file and types."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict  # the one of typing does not know the classes of this one

from inferlane.config import fields
from inferlane.plugins.reference import markdown

WORDS: tuple[tuple[Any, str], ...] = (
    (fields.Line, "text on one line"),
    (fields.Words, "text"),
    (fields.OptionalText, "text on one line"),
    (fields.OptionalScript, "text"),
    (fields.Interface, "name of an interface"),
    (fields.Count, "whole number, at least 1"),
    (fields.PlannedCount, "whole number, 1 to 65536"),
    (fields.GpusPerNode, "whole number, 1 to 1024"),
    (fields.FirstPort, "whole number, 1 to 32767"),
    (fields.CommandLine, "text, or list of texts"),
    (fields.Switch, "true or false"),
    (fields.RunName, "name"),
    (fields.Variable, "variable name"),
    (fields.Duration, "duration"),
    (fields.Environment, "mapping of variable name to text or null"),
    (fields.Options, "mapping of option name to text"),
    (fields.Names, "mapping of text to text"),
    (fields.Anything, "mapping"),
    (fields.PortBases, "mapping of `<type>.<port>` to port number"),
    (fields.Lines, "list of texts"),
)
PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null", Any: "anything"}
BLOCKS = {"engine": "engine", "frontend": "router", "services": "service", "benchmark": "benchmark"}

MEANINGS = {
    "Model.precision": "a label, such as fp8; nothing reads it",
    "Slurm.account": "account of the job",
    "Slurm.partition": "partition of the job",
    "Cluster.default_account": "for recipes without slurm.account",
    "Cluster.default_partition": "for recipes without slurm.partition",
    "Cluster.default_time_limit": "for recipes without slurm.time_limit",
    "Recipe.model": "what is served",
    "Recipe.resources": "the machines",
    "Recipe.health_check": "the start deadline",
    "Recipe.slurm": "what a scheduler is asked for",
    "ExporterBlock.container_image": "image of the exporter",
    "ExporterBlock.command": "how it is started; `{port}` is replaced",
    "ExporterBlock.port": "first port number tried",
    "ExporterBlock.path": "path of the metrics",
    "ExporterBlock.url": "an exporter that runs already; nothing is started",
    "ExporterBlock.gpu_labels": "which labels hold a device's index and stable id",
    "ExporterBlock.gpu_metrics": "names of the series",
    "Telemetry.enabled": "start the accelerator's exporter beside the workers",
    "Telemetry.collect_interval_ms": "milliseconds between two samples; nothing is sampled yet",
    "Telemetry.default_gpu_exporter": "beats the cluster file's and the plugin's",
    "ModelIdentity.repo": "model repository",
    "ModelIdentity.revision": "its revision",
    "ContainerIdentity.image": "the image",
    "Identity.model": "the model",
    "Identity.container": "the container",
    "Identity.frameworks": "name to version; says which table of flags is the right one",
    "HttpReady.port": "port number",
    "HttpReady.path": "path that is asked for",
    "HttpReady.status": "status that means ready",
    "LogReady.pattern": "regular expression",
    "FileReady.path": "the file",
    "Readiness.http": "a GET on this port and path is answered",
    "Readiness.log": "a line of the log matches",
    "Readiness.file": "a file exists on the node",
}
"""What the models themselves do not say."""


# ---- words for annotations ------------------------------------------------------------------------------------------


def words(annotation: Any) -> str:
    """A type as a user of YAML would say it."""
    for alias, said in WORDS:
        if _is(annotation, alias):
            return said
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return words(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(words(part) for part in arguments if part is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        inner = words(arguments[1]) + (" or null" if type(None) in get_args(arguments[1]) else "")
        return "mapping" if arguments[1] is Any else f"mapping of {words(arguments[0])} to {inner}"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {words(arguments[0])}"
    return "mapping, see below" if _is_block(annotation) else PLAIN.get(annotation, "mapping")


def _is(annotation: Any, alias: Any) -> bool:
    """Whether it is the alias, perhaps with more metadata behind it."""
    if get_origin(annotation) is not Annotated:
        return False
    ours, theirs = get_args(annotation), get_args(alias)
    return bool(ours[: len(theirs)] == theirs)


def _is_block(annotation: Any) -> bool:
    return is_typeddict(annotation) or (isinstance(annotation, type) and issubclass(annotation, BaseModel))


def inner_blocks(annotation: Any) -> Iterator[tuple[Any, str]]:
    """Blocks that stand somewhere inside, each with the end of its path."""
    if _is_block(annotation):
        yield annotation, ""
        return
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    end = ".*" if isinstance(origin, type) and issubclass(origin, Mapping) else ""
    for part in arguments:
        for block, path in inner_blocks(part):
            yield block, end + path


# ---- blocks of keys -------------------------------------------------------------------------------------------------


class Key(typing.NamedTuple):
    """One key of a block, ready to be shown."""

    name: str
    value: str
    default: str
    meaning: str
    annotation: Any


def keys(model: Any) -> Iterator[Key]:
    """The keys of a pydantic model or typed dictionary, in order."""
    hints = typing.get_type_hints(model, include_extras=True)
    if is_typeddict(model):
        for name, hint in hints.items():
            yield Key(name, words(hint), "absent", MEANINGS.get(f"{model.__name__}.{name}", ""), hint)
        return
    for name, info in model.model_fields.items():
        hint = hints[name]
        choices = getattr(info.validation_alias, "choices", None) or [info.alias or name]
        bounds = [
            f"{text} {getattr(item, sign):g}"
            for item in info.metadata
            for sign, text in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than"))
            if getattr(item, sign, None) is not None
        ]
        value = ", ".join([words(hint), *bounds])
        meaning = info.description or MEANINGS.get(f"{model.__name__}.{name}", "")
        yield Key(", ".join(choices), value, _default(info), meaning, hint)


def _default(info: Any) -> str:
    if info.is_required():
        return "required"
    default = info.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, BaseModel):
        return "see below"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if default not in ({}, ()) else "empty"


def block_sections(
    model: Any, path: str, title: str, level: int, scheduler: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """A table of a block's keys, then those of the blocks inside, each once."""
    waiting: list[tuple[Any, str]] = [(model, path)]
    seen: set[Any] = set()
    while waiting:
        block, at = waiting.pop(0)
        if block in seen:
            continue
        seen.add(block)
        rows = list(keys(block))
        yield f"{'#' * level} {f'`{at}`' if at else title}\n"
        if at != path or not path:
            yield markdown(block.__doc__ or "") + "\n"
        yield _table(rows, scheduler.get(at, ()))
        for key in rows:
            name = key.name.partition(",")[0]
            waiting += [(inner, f"{at}.{name}{end}".lstrip(".")) for inner, end in inner_blocks(key.annotation)]


def _table(rows: Sequence[Key], scheduler: Sequence[str]) -> str:
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in rows:
        names = ", ".join(f"`{name}`" for name in key.name.split(", "))
        kind = BLOCKS.get(key.name) if "mapping" in key.value and key.annotation is not None else None
        more = f"; keys: see [{kind} types](types.md)" if kind and "none" not in key.value else ""
        mark = " (*scheduler*)" if key.name in scheduler else ""
        meaning = cell(key.meaning)
        lines.append(f"| {names}{mark} | {cell(key.value)} | {cell(key.default)} | {meaning}{more} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text that may stand in a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")
