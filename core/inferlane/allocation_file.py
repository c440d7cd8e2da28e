"""The allocation file: nodes that were given, with what a plan needs to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from inferlane.config.faults import Fault, FileRefused
from inferlane.config.fields import MOST_GPUS, Block, Line, Switch, empty_list, empty_mapping, whole
from inferlane.config.files import read
from inferlane.config.load import faults_of
from inferlane.config.nodes import Mark, Node, nearest, plain
from inferlane.config.translate import complaints
from inferlane.planning.allocation import Allocation, GivenNode, unreachable, usable
from inferlane.planning.bind import bindable


def _port(value: object) -> int:
    number = whole(value)
    if not 1 <= number <= 65535:
        raise ValueError("must be a port number, from 1 to 65535")
    return number


def _memory(value: object) -> int:
    number = whole(value)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


def _devices(value: object) -> object:
    """A count stands for the positions themselves."""
    if not isinstance(value, int | str):
        return value
    count = whole(value)
    if not 0 <= count <= MOST_GPUS:
        raise ValueError(f"must be from 0 to {MOST_GPUS}, the most of one node")
    return [str(index) for index in range(count)]


def _different(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Each device once, and none whose word the mask would read as two."""
    for index, word in enumerate(words or ()):
        if "," in word:
            raise ValueError(f"'{word}' holds a comma, which separates devices in a mask; write one word for each")
        if word in (words or ())[:index]:
            raise ValueError(f"'{word}' stands twice; write each device once")
    return words


def _addresses(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _word(value: str) -> str:
    if not value or not bindable(value):
        raise ValueError("must hold letters, digits, spaces and _./:[]%@+=,~- only")
    return value


Word = Annotated[Line, AfterValidator(_word)]
Addresses = Annotated[tuple[Line, ...], BeforeValidator(_addresses)]


class AllocatedNode(Block):
    """One node. ``devices``: what to write for each into a device mask."""

    name: Word = Field(description="the machine's own name")
    address: Line | None = Field(default=None, description="its address, where interfaces do not matter")
    addresses: Annotated[dict[Line, Addresses], BeforeValidator(empty_mapping)] = Field(
        default={}, description="interface: address, or list of addresses"
    )
    devices: Annotated[tuple[Word, ...] | None, BeforeValidator(_devices), AfterValidator(_different)] = Field(
        default=None, description="how many, or the word of each for a device mask"
    )
    memory_bytes: Annotated[int, BeforeValidator(_memory)] | None = Field(default=None, description="host memory")
    ports_in_use: Annotated[tuple[Annotated[int, BeforeValidator(_port)], ...], BeforeValidator(empty_list)] = Field(
        default=(), description="ports that other programs hold"
    )


def _some(nodes: tuple[AllocatedNode, ...]) -> tuple[AllocatedNode, ...]:
    if not nodes:
        raise ValueError("must list at least one node; write one item for each")
    return nodes


class AllocationFile(Block):
    """The nodes in order, and whether they share one port space."""

    nodes: Annotated[tuple[AllocatedNode, ...], AfterValidator(_some)] = Field(description="the nodes, in order")
    shared_ports: Switch = Field(default=False, description="all nodes are one machine with one port space")


def load_allocation(path: str, interface: str | None) -> Allocation:
    """Read an allocation, YAML or JSON. ``interface``: the cluster file's ``network_interface``, which every node must
    have then. Raises :class:`~inferlane.errors.Refused` with every fault.
    """
    root = read(Path(path), path)
    block = plain(root)
    try:
        value = AllocationFile.model_validate(block)
    except ValidationError as error:
        raise FileRefused(faults_of(complaints(error, block, AllocationFile), root)) from error
    chosen = [_choose(node, interface) for node in value.nodes]
    found = [(index, choice.fault) for index, choice in enumerate(chosen) if choice.fault]
    if not found:
        addresses = [choice.address for choice in chosen]
        found = [
            (index, f"{value.nodes[index].name}: {text}") for index, text in unreachable(addresses, value.shared_ports)
        ]
    found += _same_names(value.nodes)
    if found:
        raise FileRefused(Fault(_mark(root, index), ("nodes", index), message) for index, message in found)
    nodes = [_given(node, choice.address) for node, choice in zip(value.nodes, chosen, strict=True)]
    return Allocation(nodes=tuple(nodes), shared_ports=value.shared_ports)


class _Choice(NamedTuple):
    address: str
    fault: str = ""


def _choose(node: AllocatedNode, interface: str | None) -> _Choice:
    """The address of a node, or why it has none."""
    have = ", ".join(node.addresses) or "no interface by name"
    if interface is not None:
        if interface not in node.addresses:
            message = f"no interface '{interface}' (network_interface of the cluster file); it has {have}"
            return _Choice("", f"{node.name}: {message}")
        texts, of = node.addresses[interface], f"interface '{interface}'"
    elif node.address is not None:
        texts, of = (node.address,), "address"
    elif len(node.addresses) == 1:
        ((name, texts),) = node.addresses.items()
        of = f"interface '{name}'"
    else:
        message = f"which address? it has {have}; say network_interface in the cluster file, or address here"
        return _Choice("", f"{node.name}: {message}")
    try:
        good = [found for text in texts if (found := usable(text))]
    except ValueError as error:
        return _Choice("", f"{node.name}: {of}: {error}; write addresses, not names")
    return _Choice(good[0]) if good else _Choice("", f"{node.name}: {of} has no address that other nodes can use")


def _given(node: AllocatedNode, address: str) -> GivenNode:
    return GivenNode(
        name=node.name,
        address=address,
        devices=node.devices,
        memory_bytes=node.memory_bytes,
        in_use=node.ports_in_use,
    )


def _same_names(nodes: Sequence[AllocatedNode]) -> list[tuple[int, str]]:
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        first.setdefault(node.name, index)
    return [
        (index, f"'{node.name}' is also the name of nodes[{first[node.name]}]")
        for index, node in enumerate(nodes)
        if first[node.name] != index
    ]


def _mark(root: Node, index: int) -> Mark:
    return nearest(root, ("nodes", index)).mark
