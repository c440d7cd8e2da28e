"""An allocation: the nodes a run was given. It shapes the plan, and its addresses are bound into it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from msgspec import field

from inferlane.planning.shape import Shape
from inferlane.values import Value


class GivenNode(Value, frozen=True, kw_only=True):
    """One node. ``address``: bare, as its peers reach it. ``devices``: the word of each for a device mask; ``None`` =
    as many as the recipe says, by position. ``in_use``: ports that other programs hold.
    """

    name: str
    address: str
    devices: tuple[str, ...] | None = None
    memory_bytes: int | None = None
    in_use: tuple[int, ...] = ()


class Allocation(Value, frozen=True, kw_only=True):
    """The nodes in plan order: the first is ``n0``. ``shared_ports``: they share one port space."""

    nodes: tuple[GivenNode, ...] = field(default_factory=tuple)
    shared_ports: bool = False

    def shape(self, gpus_per_node: int) -> Shape:
        """What of it a plan depends on: of unequal nodes, what the smallest has."""
        counts = [len(node.devices) for node in self.nodes if node.devices is not None]
        memory = [node.memory_bytes for node in self.nodes if node.memory_bytes is not None]
        positions = tuple(str(index) for index in range(gpus_per_node))
        return Shape(
            nodes=len(self.nodes),
            devices=min(counts, default=None),
            masked=any(node.devices not in (None, positions) for node in self.nodes),
            in_use={f"n{index}": tuple(sorted(node.in_use)) for index, node in enumerate(self.nodes) if node.in_use},
            shared_ports=self.shared_ports,
            memory_bytes=min(memory, default=None),
        )

    def known(self, gpus_per_node: int) -> Mapping[str, str]:
        """The address and device tokens, for :func:`inferlane.planning.bind`; those of the run stay."""
        table: dict[str, str] = {}
        for index, node in enumerate(self.nodes):
            host = f"[{node.address}]" if ":" in node.address else node.address
            words = {"ip": node.address, "bind": node.address, "host": host, "name": node.name}
            devices = node.devices or tuple(str(position) for position in range(gpus_per_node))
            words |= {f"gpu{position}": word for position, word in enumerate(devices)}
            table |= {f"n{index}.{word}": value for word, value in words.items()}
        return table


def usable(address: str) -> str | None:
    """The address as it is written into a plan; ``None`` for one that no peer can use: of the link only, or with a zone
    (``%eth0``), which has a meaning on its own machine only.
    """
    parsed = ipaddress.ip_address(address.removeprefix("[").removesuffix("]"))
    own = isinstance(parsed, ipaddress.IPv6Address) and (parsed.is_link_local or parsed.scope_id is not None)
    return None if own else str(parsed)


def unreachable(addresses: Sequence[str], one_machine: bool = False) -> Iterator[tuple[int, str]]:
    """Position and fault of each address that may not be advertised to the other nodes."""
    seen: dict[object, int] = {}
    for index, address in enumerate(addresses):
        parsed = ipaddress.ip_address(address)
        mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
        plain = mapped or parsed
        if plain.is_unspecified:
            yield index, f"{address} means all interfaces, and is nobody's address"
        elif plain.is_multicast:
            yield index, f"{address} is a multicast address"
        elif plain.is_loopback and len(addresses) > 1 and not one_machine:
            yield index, f"{address} is a loopback address, which the other nodes cannot reach"
        elif plain in seen and not one_machine:
            yield index, f"{address} is also the address of nodes[{seen[plain]}]"
        seen.setdefault(plain, index)
