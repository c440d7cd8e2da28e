"""AMD Instinct accelerators: one device mask, and the device metrics exporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from inferlane.api import AcceleratorConfig, AcceleratorSpec, Devices, Exporter, Metric, hookimpl

PLUGIN_API = 1

TYPES = ("amd", "mi250x", "mi300a", "mi300x", "mi308x", "mi325x", "mi350x", "mi355x")

MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""ROCr masks and renumbers first, then HIP (and its two aliases) picks from what is left: exactly one may be set."""


class AmdConfig(AcceleratorConfig):
    """Conventions of AMD Instinct devices."""

    visible_devices_env: str = Field(
        default="ROCR_VISIBLE_DEVICES", description="the one variable that holds the device mask"
    )


@hookimpl
def inferlane_accelerators() -> Sequence[AcceleratorSpec]:
    return [AcceleratorSpec(type=type_, summary="AMD Instinct GPUs", config=AmdConfig) for type_ in TYPES]


@hookimpl
def inferlane_visible_devices(accelerator: AmdConfig, devices: Devices) -> Mapping[str, str | None] | None:
    if devices.whole:
        return {}
    return {**dict.fromkeys(MASKS), accelerator.visible_devices_env: ",".join(devices.words)}


@hookimpl
def inferlane_gpu_exporter(accelerator: AmdConfig) -> Exporter | None:
    """The device metrics exporter, v1.5.2: port 5000, lower-case names, energy in microjoules."""
    return Exporter(
        image="docker://rocm/device-metrics-exporter:v1.5.2",
        command=("/home/amd/tools/entrypoint.sh",),
        port=5000,
        index_label="gpu_id",
        identity_label="serial_number",
        metrics={
            "power": Metric(series="gpu_power_usage", unit="W"),
            "energy": Metric(series="gpu_energy_consumed", unit="uJ"),
            "gpu_util": Metric(series="gpu_gfx_activity", unit="%"),
            "temperature": Metric(series="gpu_junction_temperature", unit="C"),
        },
    )
