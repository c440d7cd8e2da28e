"""The accelerator of a run: which plugin, which mask variable, which exporter, with every precedence in one place."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from inferlane.config import Cluster, Recipe, parse_block
from inferlane.errors import Refused, UsageFault
from inferlane.planning.shape import Shape
from inferlane.plugins import Accelerator, Plugins
from inferlane.plugins.registry import MissingPlugin
from inferlane.values import Devices, Env, Exporter, Problem, Slot
from inferlane.values.configs import AcceleratorConfig

FALLBACK = "default"
"""The accelerator entry whose conventions hold where the named one is not known."""


class AcceleratorUse:
    """The accelerator of a run; asks its plugin once per device set."""

    def __init__(self, owner: Accelerator, config: AcceleratorConfig, gpus_per_node: int, shape: Shape) -> None:
        self.owner = owner
        self.config = config
        self._total = gpus_per_node
        self._masked = shape.masked
        self._masks: dict[tuple[int, ...] | tuple[str, tuple[int, ...]], dict[str, str | None]] = {}

    def mask(self, slot: Slot) -> dict[str, str | None]:
        """The mask for one slot: variables to set and, with ``None``, to remove."""
        key = (slot.node.name, slot.gpus)
        if key not in self._masks:
            words = tuple(f"{{{slot.node.name}.gpu{position}}}" for position in slot.gpus)
            whole = not slot.gpus or (len(slot.gpus) == self._total and not self._masked)
            devices = Devices(indices=slot.gpus, words=words, total=self._total, whole=whole)
            self._masks[key] = dict(self.owner.visible_devices(self.config, devices))
        return self._masks[key]

    @property
    def variables(self) -> Env:
        """Every variable the mask touches, as for a process that owns no device."""
        probe = Devices(indices=(0,), words=("0",), total=self._total, whole=False)
        return dict(self.owner.visible_devices(self.config, probe))

    def exporter(self, cluster: Cluster, recipe: Recipe) -> Exporter | None:
        """The GPU exporter: plugin < cluster < recipe, field by field; null turns it off."""
        value = self.owner.gpu_exporter(self.config)
        for where, block in _exporter_blocks(cluster, recipe):
            if block is None:
                value = None
                continue
            base = msgspec.to_builtins(value) if value is not None else {}
            value = _exporter({**base, **block}, where)
        return value


def _exporter_blocks(cluster: Cluster, recipe: Recipe) -> list[tuple[str, Mapping[str, Any] | None]]:
    blocks: list[tuple[str, Mapping[str, Any] | None]] = []
    if "default_gpu_exporter" in cluster.model_fields_set:
        blocks.append(("cluster:default_gpu_exporter", cluster.default_gpu_exporter))
    telemetry = recipe.telemetry or {}
    if "default_gpu_exporter" in telemetry:
        blocks.append(("telemetry.default_gpu_exporter", telemetry["default_gpu_exporter"]))
    return blocks


_RENAMED = {"container_image": "image"}
_UNITS = {"power": "W", "temperature": "C", "sm_active": "ratio"}
"""Units of metrics that a file names and the accelerator's plugin does not."""


def _exporter(block: Mapping[str, Any], where: str) -> Exporter:
    fields = {_RENAMED.get(key, key): value for key, value in block.items()}
    labels = fields.pop("gpu_labels", None) or {}
    for name, ours in (("index", "index_label"), ("identity", "identity_label")):
        if name in labels:
            fields[ours] = labels[name]
    known = fields.get("metrics") or {}
    for name, metric in (fields.pop("gpu_metrics", None) or {}).items():
        series = metric.get("metric") if isinstance(metric, Mapping) else metric
        unit = known[name]["unit"] if name in known else _UNITS.get(name, "%")
        fields["metrics"] = {**fields.get("metrics", {}), name: {"series": series, "unit": unit}}
    if isinstance(fields.get("command"), str):
        fields["command"] = fields["command"].split()
    try:
        return msgspec.convert(fields, Exporter)
    except msgspec.ValidationError as error:
        raise Refused([Problem(where=where, message=str(error))]) from error


def choose_accelerator(
    recipe: Recipe, cluster: Cluster, shape: Shape, plugins: Plugins, problems: list[Problem]
) -> tuple[AcceleratorUse, dict[str, str]]:
    """The accelerator of the recipe, and ``{type: pip line}`` where a known type's plugin is not installed."""
    wanted = recipe.resources.gpu_type or cluster.accelerator or cluster.default_gpu_type or FALLBACK
    missing: dict[str, str] = {}
    try:
        owner = plugins.accelerator(wanted)
    except UsageFault:
        owner = plugins.accelerator(FALLBACK)
        near = difflib.get_close_matches(wanted, plugins.installed("accelerator"), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        message = f"no plugin knows '{wanted}'; the conventions of '{FALLBACK}' are used{hint}"
        problems.append(Problem(where="resources.gpu_type", severity="warning", message=message))
    except MissingPlugin as fault:
        owner = plugins.accelerator(FALLBACK)
        missing[wanted] = fault.install
        message = f"{fault}; until then the conventions of '{FALLBACK}' are used, and nothing can be run"
        problems.append(Problem(where="resources.gpu_type", severity="warning", message=message))
    block: dict[str, Any] = {"type": wanted}
    variable = recipe.resources.visible_devices_env or cluster.visible_devices_env
    if variable:
        block["visible_devices_env"] = variable
    config = parse_block(owner.parse, block, "resources")
    return AcceleratorUse(owner, config, recipe.resources.gpus_per_node or 0, shape), missing
