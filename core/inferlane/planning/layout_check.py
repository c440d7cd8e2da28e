"""Whether a plugin's layout agrees with itself: what it names must be there, and once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from inferlane.errors import PluginFault
from inferlane.plugins import Owner
from inferlane.values import EngineLayout, Layout, Part, RouterLayout


def check_layout(owner: Owner, layout: Layout) -> None:
    """Raises :class:`PluginFault` with every disagreement, in one line: only the plugin's author can mend them."""
    faults = [*_parts(layout.parts)]
    if isinstance(layout, EngineLayout):
        faults += _serving(layout)
    if isinstance(layout, RouterLayout) and layout.front == "router":
        public = {port.name for part in layout.parts for port in part.ports if port.public}
        faults += [] if layout.port in public else [f"no part has the public port '{layout.port}'"]
    if faults:
        whose = f"plugin {owner.type} ({owner.distribution} {owner.version})"
        raise PluginFault(f"{whose}: its layout disagrees with itself: {'; '.join(faults)}; report it to its author")


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    parts = tuple(parts)
    yield from (f"two parts are called '{name}'" for name in _repeated(part.name for part in parts))
    for part in parts:
        yield from (f"part '{part.name}' has two ports '{name}'" for name in _repeated(p.name for p in part.ports))
        if part.metrics is not None and part.metrics.port not in {port.name for port in part.ports}:
            yield f"part '{part.name}' has no port '{part.metrics.port}' for its metrics"
        for port in part.ports:
            if port.width < 1:
                yield f"port '{port.name}' is {port.width} wide"
        if part.devices != "none" and part.per in ("leader", "run"):
            yield f"part '{part.name}' is one per {part.per}, which owns no devices, and asks for them"
        if part.per == "rank" and part.gpus_per_rank < 1:
            yield f"part '{part.name}' has {part.gpus_per_rank} devices per rank"


def _serving(layout: EngineLayout) -> Iterator[str]:
    serving = layout.serving
    part = next((part for part in layout.parts if part.name == serving.part), None)
    if part is None:
        yield f"no part is called '{serving.part}', which is said to serve"
    elif serving.port is not None and serving.port not in {port.name for port in part.ports}:
        yield f"part '{part.name}' serves at port '{serving.port}', which it does not have"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
