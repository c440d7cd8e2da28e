"""Judging a check: pure, from what a probe saw to a verdict that names what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from inferlane.values import HttpCheck, PluginCheck, Reply, Rows, Verdict

NEVER_HEALS = (401, 403)
"""A refusal of who asks: waiting does not change it."""

JudgePlugin = Callable[[PluginCheck, Reply], Verdict]


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern)


def judge_http(check: HttpCheck, reply: Reply) -> Verdict:
    """Status, then text, then rows."""
    if reply.status not in check.status:
        answer = f"HTTP {reply.status}" if reply.status else f"no answer{f' ({reply.body})' if reply.body else ''}"
        return Verdict(ready=False, message=f"{check.url}: {answer}", give_up=reply.status in NEVER_HEALS)
    if check.text is not None and not compiled(check.text).search(reply.body):
        return Verdict(ready=False, message=f"{check.url}: the answer does not match {check.text!r}")
    return Verdict(ready=True, message=f"HTTP {reply.status}") if check.rows is None else _judge_rows(check, reply.body)


def _judge_rows(check: HttpCheck, body: str) -> Verdict:
    assert check.rows is not None
    try:
        document = json.loads(body)
    except ValueError:
        return Verdict(ready=False, message=f"{check.url}: the answer is not JSON")
    rows = _matching(check.rows, document)
    if check.rows.field is None:
        return need((), len(rows), (), check.rows.at_least, check.url)
    seen = [str(row.get(check.rows.field)) for row in rows]
    return need(seen, len(rows), check.rows.values, check.rows.at_least, check.url)


def _matching(rows: Rows, document: Any) -> list[dict[str, Any]]:
    for key in filter(None, rows.path.split(".")):
        document = document.get(key) if isinstance(document, dict) else None
    items = document if isinstance(document, list) else []
    return [item for item in items if isinstance(item, dict) and _allowed(rows, item)]


def _allowed(rows: Rows, item: dict[str, Any]) -> bool:
    return all(item.get(name) in values for name, values in rows.where.items())


def need(seen: Sequence[str], count: int, values: Sequence[str], at_least: int, what: str) -> Verdict:
    """Each of ``values`` was seen, and at least so many rows or lines; the message names the missing."""
    missing = tuple(value for value in values if value not in seen)
    if missing:
        return Verdict(ready=False, message=f"{what}: missing {', '.join(missing)}", missing=missing)
    if count < at_least:
        return Verdict(ready=False, message=f"{what}: {count} of {at_least}")
    return Verdict(ready=True, message="ok")


def judge_tcp(address: str, reply: Reply) -> Verdict:
    """An accepted connection is status 200 of a probe."""
    if reply.status:
        return Verdict(ready=True, message="accepts connections")
    return Verdict(ready=False, message=f"{address}: {reply.body or 'does not accept connections'}")


def judge_plugin(check: PluginCheck, reply: Reply, judge: JudgePlugin | None) -> Verdict:
    """What the router's plugin says; a plugin that raises is told as "not ready", with the reason."""
    if judge is None:
        return Verdict(ready=False, message=f"{check.url}: nobody judges {check.name!r}", give_up=True)
    try:
        return judge(check, reply)
    except Exception as error:  # noqa: BLE001 - third-party code must not end the supervisor
        return Verdict(ready=False, message=f"{check.url}: the plugin's verdict {check.name!r} failed: {error!r}")
