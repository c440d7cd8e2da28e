"""What the sizes in a role's arguments must be for its workers to start, as of SGLang 0.5.23."""

from __future__ import annotations

from collections.abc import Iterator

from inferlane.api import Args, Fleet, Group, Problem
from inferlane_sglang.arguments import DATA, EXPERT, PIPELINE, TENSOR, argument, key_of, size

SIZES = {"tensor": TENSOR, "data": DATA, "pipeline": PIPELINE, "expert": EXPERT}
ATTENTION = "enable-dp-attention"
TRANSFER = "disaggregation-transfer-backend"
TRANSFER_DEFAULT = "mooncake"


def shape_problems(group: Group, fleet: Fleet) -> Iterator[Problem]:
    """The arguments of one role against its workers, and against the other role where both must say the same."""
    args, where = group.args, f"roles.{group.role}.args"
    if argument(args, "grpc-mode"):
        message = "workers that speak gRPC are not supported yet"
        yield Problem(where=f"{where}.{key_of(args, 'grpc-mode')}", message=message)
        return
    sizes = {kind: size(args, names) for kind, names in SIZES.items()}
    wrong = [kind for kind, value in sizes.items() if value == 0]
    for kind in wrong:
        key = key_of(args, *SIZES[kind])
        message = f"the {kind} parallel size must be a positive whole number, not {argument(args, str(key))!r}"
        yield Problem(where=f"{where}.{key}", message=message)
    if not wrong:
        known = {kind: value or 1 for kind, value in sizes.items()}
        yield from _against_gpus(group, known, where)
        yield from _among_each_other(group, known, where)
    yield from _transfer(group, fleet, where)


def _against_gpus(group: Group, sizes: dict[str, int], where: str) -> Iterator[Problem]:
    tensor, data, pipeline = sizes["tensor"], sizes["data"], sizes["pipeline"]
    inside = bool(argument(group.args, ATTENTION))
    need = tensor * pipeline * (1 if inside else data)
    if need == group.gpus:
        return
    sum_ = f"tensor {tensor} x pipeline {pipeline}" + ("" if inside else f" x data {data}")
    message = f"{sum_} = {need} GPUs, but each worker has {group.gpus}; make them equal (gpus, or the parallel sizes)"
    yield Problem(where=where, message=message, severity="error" if need > group.gpus else "warning")


def _among_each_other(group: Group, sizes: dict[str, int], where: str) -> Iterator[Problem]:
    args, tensor, data, expert = group.args, sizes["tensor"], sizes["data"], sizes["expert"]
    if argument(args, ATTENTION):
        if data == 1:
            message = "has no effect with a data parallel size of 1; state dp-size too"
            yield Problem(where=f"{where}.{key_of(args, ATTENTION)}", message=message, severity="warning")
        elif tensor % data:
            message = (
                f"{data} data parallel ranks do not divide a tensor parallel size of {tensor}, whose GPUs they share"
            )
            yield Problem(where=f"{where}.{key_of(args, *DATA)}", message=f"{message}; use a divisor of {tensor}")
    elif data > 1 and group.nodes > 1:
        message = f"{data} data parallel ranks over {group.nodes} nodes need {ATTENTION}; set it, or use more workers"
        yield Problem(where=f"{where}.{key_of(args, *DATA)}", message=message)
    if tensor % expert:
        message = f"an expert parallel size of {expert} does not divide a tensor parallel size of {tensor}"
        yield Problem(where=f"{where}.{key_of(args, *EXPERT)}", message=f"{message}; use a divisor of {tensor}")


def _transfer(group: Group, fleet: Fleet, where: str) -> Iterator[Problem]:
    """Told of decode, once for the pair."""
    other: Args | None = next((one.args for one in fleet.groups if one.role == "prefill"), None)
    if group.role != "decode" or other is None:
        return
    ours, theirs = argument(group.args, TRANSFER), argument(other, TRANSFER)
    key = f"{where}.{key_of(group.args, TRANSFER) or TRANSFER}"
    if ours is not None and theirs is not None and ours != theirs:
        message = f"decode receives by {ours}, and prefill sends by {theirs}; state the same in both roles"
        yield Problem(where=key, message=message)
    elif (ours or TRANSFER_DEFAULT) != (theirs or TRANSFER_DEFAULT):
        message = f"decode receives by {ours or TRANSFER_DEFAULT}, and prefill sends by {theirs or TRANSFER_DEFAULT}"
        message += f" (without the argument, {TRANSFER_DEFAULT}); state the same in both roles"
        yield Problem(where=key, message=message, severity="warning")
