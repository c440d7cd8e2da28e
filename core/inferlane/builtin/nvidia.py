"""NVIDIA accelerators, and the conventions for types that nobody knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from inferlane.api import AcceleratorConfig, AcceleratorSpec, Devices, Exporter, Metric, hookimpl

PLUGIN_API = 1

TYPES = ("default", "a100", "b200", "b300", "gb200", "gb300", "gh200", "h100", "h20", "h200", "l4", "l40s")

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""A site may point these conventions at another vendor's variable; two masks at once filter twice."""


class NvidiaConfig(AcceleratorConfig):
    """Conventions of NVIDIA devices."""

    visible_devices_env: str = Field(
        default="CUDA_VISIBLE_DEVICES", description="the one variable that holds the device mask"
    )


@hookimpl
def inferlane_accelerators() -> Sequence[AcceleratorSpec]:
    return [AcceleratorSpec(type=type_, summary="NVIDIA GPUs", config=NvidiaConfig) for type_ in TYPES]


@hookimpl
def inferlane_visible_devices(accelerator: NvidiaConfig, devices: Devices) -> Mapping[str, str | None] | None:
    if devices.whole:
        return {}
    return {**dict.fromkeys(MASKS), accelerator.visible_devices_env: ",".join(devices.words)}


@hookimpl
def inferlane_gpu_exporter(accelerator: NvidiaConfig) -> Exporter | None:
    return Exporter(
        image="nvcr.io#nvidia/k8s/dcgm-exporter:3.3.9-3.6.1-ubuntu22.04",
        command=("dcgm-exporter", "--address", ":{port}"),
        port=9401,
        index_label="gpu",
        identity_label="UUID",
        metrics={
            "power": Metric(series="DCGM_FI_DEV_POWER_USAGE", unit="W"),
            "energy": Metric(series="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", unit="mJ"),
            "gpu_util": Metric(series="DCGM_FI_DEV_GPU_UTIL", unit="%"),
            "sm_active": Metric(series="DCGM_FI_PROF_SM_ACTIVE", unit="ratio"),
            "temperature": Metric(series="DCGM_FI_DEV_GPU_TEMP", unit="C"),
        },
    )
