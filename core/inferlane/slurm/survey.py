"""From what the nodes say of themselves to an allocation: one address each, on the configured interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inferlane.errors import RunFault
from inferlane.planning.allocation import Allocation, GivenNode, unreachable, usable


def allocation(reports: Sequence[Mapping[str, Any]], interface: str | None) -> Allocation:
    """``reports``: in the order of the nodes. Raises ``RunFault`` with a line for each without a usable address."""
    chosen: list[str] = []
    faults: list[str] = []
    for said in reports:
        address, fault = _choose(said, interface)
        chosen.append(address)
        faults += [f"{said['node']}: {fault}"] if fault else []
    if not faults:
        faults = [f"{reports[index]['node']}: {text}" for index, text in unreachable(chosen)]
    if faults:
        raise RunFault("\n".join(faults))
    nodes = [
        GivenNode(
            name=str(said["node"]),
            address=address,
            memory_bytes=said.get("memory_bytes"),
            in_use=tuple(said.get("listening") or ()),
        )
        for said, address in zip(reports, chosen, strict=True)
    ]
    return Allocation(nodes=tuple(nodes))


def _choose(said: Mapping[str, Any], interface: str | None) -> tuple[str, str]:
    by_name: Mapping[str, Sequence[str]] = said.get("interfaces") or {}
    if interface is None:
        route = said.get("route")
        good = usable(str(route)) if route else None
        return (good, "") if good else ("", "no route to the other nodes; say network_interface in the cluster file")
    if interface not in by_name:
        have = ", ".join(sorted(by_name)) or "none with an address"
        return "", f"no interface '{interface}' (network_interface of the cluster file); it has {have}"
    good = next(filter(None, map(usable, by_name[interface])), None)
    return (good, "") if good else ("", f"interface '{interface}' has no address that other nodes can use")
