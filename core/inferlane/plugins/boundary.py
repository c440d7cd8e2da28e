"""The hook boundary: call one plugin, check what it answered, hand on a copy that shares nothing with it."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin

import msgspec
import pluggy

from inferlane.errors import PluginFault
from inferlane.plugins.contract import hooks

_PLAIN = (str, bool, int, float, type(None))
_LEAVES = frozenset(_PLAIN)
_CONTAINERS = frozenset((tuple, dict, list))


class AnswerError(ValueError):
    """An answer that is not what the hook's annotation says; ``str()`` says what and where."""


class Caller(msgspec.Struct, frozen=True):
    """Calls the hooks of one loaded module, and names the plugin in messages."""

    type: str
    distribution: str
    version: str
    manager: pluggy.PluginManager

    @property
    def label(self) -> str:
        """How messages name the plugin."""
        return f"{self.type} ({self.distribution} {self.version})"

    def ask(self, hook: str, **arguments: Any) -> Any:
        """The checked answer of ``hook``; ``None`` when it answered nothing or is not implemented.

        Raises :class:`PluginFault`, in one line, when the hook raises or answers badly.
        """
        answer = self.ask_raw(hook, **arguments)
        if answer is None:
            return None
        try:
            return checked(hook, answer)
        except AnswerError as fault:
            raise self.fault(f"hook {hook} answered badly: {fault}") from fault

    def ask_raw(self, hook: str, **arguments: Any) -> Any:
        """The answer as given; for answers that the caller checks, or that are no data."""
        try:
            answer = getattr(self.manager.hook, hook)(**arguments)
        except (Exception, SystemExit) as fault:
            raise self.fault(f"hook {hook} raised {one_line(fault)}") from fault
        if hooks()[hook].firstresult:
            return answer
        return answer[0] if answer else None

    def fault(self, what: str) -> PluginFault:
        """A fault of loaded code: only its author can mend it."""
        return PluginFault(f"plugin {self.label}: {what}; upgrade {self.distribution} or report it to its author")

    def implemented(self) -> tuple[str, ...]:
        """The hooks this module implements, in the contract's order."""
        return tuple(name for name in hooks() if getattr(self.manager.hook, name).get_hookimpls())


def one_line(fault: BaseException) -> str:
    """Type and text of an exception on one line."""
    text = " ".join(str(fault).split())
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def checked(hook: str, answer: Any) -> Any:
    """``answer`` as a fresh value of the type that the hook's annotation names; raises :class:`AnswerError`."""
    kind = _answer_type(hook)
    if kind is Any:
        return answer
    _expect(kind, answer)
    try:
        _refuse_odd(answer, "$")
        return _decoder(hook).decode(_encoder().encode(answer))
    except AnswerError:
        raise
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise AnswerError(" ".join(str(fault).split())) from fault


@functools.cache
def _answer_type(hook: str) -> Any:
    """What msgspec decodes into: the annotation without ``None``, sequences as tuples."""
    kind = hooks()[hook].answer
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return tuple.__class_getitem__((get_args(kind)[0], ...)) if get_origin(kind) is Sequence else kind


@functools.cache
def _decoder(hook: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_answer_type(hook))


@functools.cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):  # read-only mappings that the core handed out
        return dict(value)
    raise TypeError(f"Objects of type `{type(value).__name__}` are no data")


def _expect(kind: Any, answer: Any) -> None:
    """The outermost type, and that of each item: two values with equal fields would decode as each other."""
    if get_origin(kind) is tuple:
        if not isinstance(answer, (list, tuple)):
            raise AnswerError(f"Expected `array`, got `{type(answer).__name__}`")
        for position, item in enumerate(answer):
            _expect_item(get_args(kind)[0], item, f" - at `$[{position}]`")
    else:
        _expect_item(kind, answer, "")


def _expect_item(kind: Any, item: Any, where: str) -> None:
    wanted = get_origin(kind) or kind
    if not isinstance(item, wanted):
        name = "object" if issubclass(wanted, Mapping) else wanted.__name__
        raise AnswerError(f"Expected `{name}`, got `{type(item).__name__}`{where}")


def _refuse_odd(value: Any, path: str) -> None:
    """Refuse what the encoder would turn into text or a list in silence: sets (no order), bytes, dates, other keys.

    Called for every answer of every process: paths are put together only for what is not a plain leaf.
    """
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if type(item) not in _LEAVES and (item or type(item) not in _CONTAINERS):
                _refuse_odd(item, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            if type(item) not in _LEAVES:
                _refuse_odd(item, f"{path}[{position}]")
    elif isinstance(value, (dict, Mapping)):
        for key, item in value.items():
            if not isinstance(key, str):
                raise AnswerError(f"Expected `str` keys, got `{type(key).__name__}` - at `{path}`")
            if type(item) not in _LEAVES:
                _refuse_odd(item, f"{path}.{key}")
    elif not isinstance(value, _PLAIN):  # a subclass of text or number is written as what it is
        raise AnswerError(f"Expected plain data, got `{type(value).__name__}` - at `{path}`")
