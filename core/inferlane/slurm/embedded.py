"""Frozen files inside the job script, for sites whose login and compute nodes share no file system.

``python -P -m inferlane.slurm.embedded RUN``, on the first node: make RUN from what stands on standard input.
"""

from __future__ import annotations

import base64
import binascii
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder.directory import FOLDERS, RunDirectory

_MOST = 4_000_000
"""A scheduler takes scripts of 4 MiB (its ``max_script_size``)."""

_WIDTH = 120
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)*")


def pack(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Lines of letters, digits and ``+/=`` only. ``files``: name below the run folder to content.

    Raises ``UsageFault`` for more than a script may hold.
    """
    text = base64.b64encode(zlib.compress(msgspec.msgpack.encode(dict(sorted(files.items()))), 9)).decode()
    if len(text) > _MOST:
        raise UsageFault(
            f"the frozen plan and its files are {len(text)} bytes and do not fit into a job script; say "
            "runtime_config_transport: shared-filesystem, and choose an output folder that compute nodes see"
        )
    return tuple(text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH))


def unpack(lines: Sequence[str]) -> dict[str, bytes]:
    """What was packed. Raises ``RunFault``."""
    try:
        raw = zlib.decompress(base64.b64decode("".join(line.strip() for line in lines), validate=True))
        files = msgspec.msgpack.decode(raw, type=dict[str, bytes])
    except (binascii.Error, zlib.error, msgspec.MsgspecError) as error:
        raise RunFault(f"the frozen files in the job script are damaged: {error}") from error
    if odd := [name for name in files if not _NAME.fullmatch(name)]:
        raise RunFault(f"the job script holds a file with a name that is not ours: {odd[0]!r}")
    return files


def place(run: RunDirectory, files: Mapping[str, bytes]) -> bool:
    """Make the run folder with these files; ``False`` if this node sees it already, which then is left as it is."""
    if all((run.path / name).is_file() for name in files):
        return False
    try:
        run.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        run.path.chmod(0o700)
        for folder in FOLDERS:
            (run.path / folder).mkdir(mode=0o700, exist_ok=True)
        for name, content in files.items():
            run.write(name, content)
    except OSError as error:
        raise RunFault(
            f"{run.path} cannot be made on this node ({error.strerror}); choose with -o, or output_dir of the cluster "
            "file, a folder that compute nodes can make too"
        ) from error
    return True


def main(argv: Sequence[str]) -> int:
    """A fault is one line."""
    try:
        place(RunDirectory(Path(argv[1])), unpack(sys.stdin.readlines()))
    except RunFault as fault:
        sys.stderr.write(f"error: {fault}\n")
        return fault.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
