"""One file, several recipes: ``base`` with ``override_<name>`` blocks, and the selector that picks one."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from inferlane.config.faults import Fault, FileRefused, refuse
from inferlane.config.nodes import Node, mapping, merged
from inferlane.errors import UsageFault

_OVERRIDE = "override_"
_ZIP = "zip_override_"
_SELECTOR = re.compile(r"(?:base|(?:zip_)?override_[^/]*|[^/]*[*?][^/]*)")
_BESIDE = ("schema", "base", "lock")


def split_reference(reference: str) -> tuple[Path, str | None]:
    """``recipe.yaml:override_x`` to path and selector. A file whose very name holds the colon wins."""
    path, colon, selector = reference.rpartition(":")
    if not colon or not path or Path(reference).exists():
        return Path(reference), None
    if _SELECTOR.fullmatch(selector) or Path(path).is_file():
        return Path(path), selector
    return Path(reference), None


def select(root: Node, selector: str | None, file: str) -> Node:
    """The one recipe that ``selector`` names. Raises :class:`FileRefused` or ``UsageFault``."""
    keys = root.value
    assert isinstance(keys, dict)
    names = [name for name in keys if name.startswith((_OVERRIDE, _ZIP))]
    if "base" not in keys and not names:
        if selector is not None:
            raise UsageFault(f"{file} has no variants, so ':{selector}' selects nothing; leave it out")
        return root
    _check(root, keys, file)
    chosen = _choose(names, selector, file)
    base = keys["base"]
    recipe = base if chosen == "base" else merged(base, _named(base, keys[chosen], chosen))
    schema = keys.get("schema")
    inner = recipe.value
    assert isinstance(inner, dict)
    return recipe if schema is None or "schema" in inner else mapping({"schema": schema, **inner}, root.mark, root.key)


def _named(base: Node, override: Node, variant: str) -> Node:
    """The override, with a name of its own: ``<base name>_<suffix>`` unless it states one."""
    assert isinstance(base.value, dict)
    assert isinstance(override.value, dict)
    name = base.value.get("name")
    if "name" in override.value or name is None or not isinstance(name.value, str):
        return override
    derived = Node(f"{name.value}_{variant.removeprefix(_OVERRIDE)}", override.key, override.key)
    return mapping({**override.value, "name": derived}, override.mark, override.key)


def _check(root: Node, keys: dict[str, Node], file: str) -> None:
    if "base" not in keys:
        raise FileRefused([Fault(root.mark, (), f"variants need a 'base' block{_hint('base', keys)}")])
    faults: list[Fault] = []
    for name, node in keys.items():
        known = name in _BESIDE or name.startswith((_OVERRIDE, _ZIP))
        if not known:
            faults.append(Fault(node.key, (name,), _unknown(name)))
        elif name not in ("schema", "lock") and not isinstance(node.value, dict):
            faults.append(Fault(node.key, (name,), "must be a mapping"))
    if faults:
        raise FileRefused(faults)


def _unknown(name: str) -> str:
    head, _, tail = name.partition("_")
    if difflib.get_close_matches(head, ["override"], cutoff=0.7):
        return f"unknown key; did you mean 'override_{tail}'?"
    close = difflib.get_close_matches(name, _BESIDE, 1, 0.6)
    if close:
        return f"unknown key; did you mean '{close[0]}'?"
    return "unknown key beside 'base'; move it into 'base', or into an 'override_<name>' block"


def _hint(wanted: str, keys: dict[str, Node]) -> str:
    close = difflib.get_close_matches(wanted, [k for k in keys if not k.startswith(_OVERRIDE)], 1, 0.6)
    return f"; did you mean it by '{close[0]}'?" if close else ""


def _choose(names: list[str], selector: str | None, file: str) -> str:
    listing = ", ".join(f":{name}" for name in ("base", *names))
    if selector is None:
        if len(names) > 1:
            refuse(file, f"the file holds {len(names)} variants; add one of these to its name: {listing}")
        selector = names[0] if names else "base"
    if any(sign in selector for sign in "*?"):
        raise UsageFault(f"selecting several variants ('{selector}') is not supported yet; one of {listing}")
    if selector.startswith(_ZIP):
        raise UsageFault(f"{file}:{selector}: zip_override is not supported yet; write an override_<name> block")
    if selector not in ("base", *names):
        close = difflib.get_close_matches(selector, ["base", *names], 1, 0.6)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise UsageFault(f"{file} has no variant '{selector}'; {hint}It has: {listing}")
    return selector
