"""Hooks of accelerators: the device mask, GPU exporter defaults, fingerprints."""
# mypy: disable-error-code="empty-body"

from collections.abc import Mapping, Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import AcceleratorSpec, Devices, Exporter, ProbeCommand
from inferlane.values.configs import AcceleratorConfig


@hookspec
def inferlane_accelerators() -> Sequence[AcceleratorSpec]:
    """The GPU families this module knows: one entry per ``resources.gpu_type`` word."""


@hookspec(firstresult=True)
def inferlane_visible_devices(accelerator: AcceleratorConfig, devices: Devices) -> Mapping[str, str | None] | None:
    """The device mask: exactly one variable set to ``devices.words``, the vendor's others removed with ``None``.

    Asked once per device set. ``accelerator.visible_devices_env`` is already resolved (recipe, cluster, plugin). For
    ``devices.whole`` answer ``{}``. Never set an empty value: it hides everything on one vendor and nothing on another.
    """


@hookspec(firstresult=True)
def inferlane_gpu_exporter(accelerator: AcceleratorConfig) -> Exporter | None:
    """The default GPU metrics exporter of this family. ``None`` = no exporter.

    Asked once, at load. The cluster file's ``default_gpu_exporter`` beats it, the recipe beats both, null turns it off.
    """


@hookspec(firstresult=True)
def inferlane_fingerprint(accelerator: AcceleratorConfig) -> Sequence[ProbeCommand] | None:
    """Commands whose output describes driver, runtime, collectives library and devices; the core runs them.

    Not asked yet by this version of the core.
    """


@hookspec(firstresult=True)
def inferlane_fingerprint_read(accelerator: AcceleratorConfig, outputs: Mapping[str, str]) -> Mapping[str, str] | None:
    """Read the outputs of ``inferlane_fingerprint`` (name of the command to its text) into named facts. Pure.

    Not asked yet by this version of the core.
    """
