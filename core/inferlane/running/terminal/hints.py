"""What to type to reach a run: lines that work as they are."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path


def curl_line(endpoint: str, model: str, chat: bool = False) -> str:
    """One completion. Proxies of the environment are left out: they do not know this machine's own addresses."""
    asked = {"messages": [{"role": "user", "content": "Hello"}]} if chat else {"prompt": "Hello"}
    body = json.dumps({"model": model, **asked, "max_tokens": 16})
    path = "/v1/chat/completions" if chat else "/v1/completions"
    words = ("-H", "Content-Type: application/json", "-d", body)
    return f"curl -sS --noproxy '*' {shlex.quote(endpoint.rstrip('/') + path)} {shlex.join(words)}"


def reference(folder: Path) -> str:
    """How to name the run on a command line here: by id where that is found without more words, else by path."""
    try:
        near = folder.parent == Path("outputs").absolute()
    except OSError:  # the current folder is gone
        near = False
    return shlex.quote(folder.name if near else os.fspath(folder))


def attach_lines(folder: Path, endpoint: str | None, model: str | None, chat: bool = False) -> list[str]:
    """Try it, follow it, stop it."""
    name = reference(folder)
    tried = [f"try it:  {curl_line(endpoint, model, chat)}"] if endpoint and model else []
    return [
        *tried,
        f"logs:    {folder / 'logs'}",
        f"follow:  inferlane logs {name} -f",
        f"stop:    inferlane cancel {name}",
    ]
