"""What a job is told, frozen at submission: it reads ``RUN/frozen``, and nothing that the user may still edit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from inferlane.errors import RunFault
from inferlane.planning.bind import decode
from inferlane.rehearsal.options import RehearsalOptions
from inferlane.slurm.host_setup import HostCommands
from inferlane.values import Plan

FOLDER = "frozen"
PLAN, RECIPE, CLUSTER, SETTINGS = "plan.json", "recipe.yaml", "cluster.yaml", "job.json"

Options = Mapping[str, str | None]


class StepSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How steps are started. ``gpus``: the options by which a step gets the devices of its node (none where the site
    has no devices to ask for). ``mounts``: ``host:container[:options]``. ``preamble``: shell text before each program
    in a container. ``options``: of every worker and router; ``role_options``: of one role's workers, beat them.
    ``containers``: whether images are used.
    """

    gpus: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    preamble: str | None = None
    options: Options = {}
    role_options: Mapping[str, Options] = {}
    containers: bool = True


class JobSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything besides the plan. ``python``: interpreter on the nodes. ``interface``: whose addresses are used.
    ``pass_environment``: names that processes may see of the job's environment. ``model``: what stands for the model's
    place. ``rehearsal``: what the verdict says of one, and ``rehearsed`` what was asked of it; ``None`` for a real run.
    ``digest``: of the frozen plan. ``host``: commands on the bare nodes, before and after.
    """

    name: str
    grace_s: float
    patience_s: float
    python: str
    model: str
    digest: str
    interface: str | None = None
    pass_environment: tuple[str, ...] = ()
    serve: bool = False
    rehearsal: Mapping[str, Any] | None = None
    rehearsed: RehearsalOptions | None = None
    steps: StepSettings = StepSettings()
    host: HostCommands = HostCommands()


class Frozen(msgspec.Struct, frozen=True):
    """The content of the folder."""

    settings: JobSettings
    plan: Plan
    recipe: Path
    cluster: Path


def digest(plan: bytes) -> str:
    """What a frozen plan is known by."""
    return hashlib.sha256(plan).hexdigest()


def files(settings: JobSettings, plan: bytes, recipe: bytes, cluster: bytes) -> dict[str, bytes]:
    """Name below the run folder to content."""
    content = {PLAN: plan, RECIPE: recipe, CLUSTER: cluster, SETTINGS: msgspec.json.encode(settings)}
    return {f"{FOLDER}/{name}": text for name, text in content.items()}


def read(run: Path) -> Frozen:
    """Raises ``RunFault`` that names the file that is missing, odd, or was changed since."""
    folder = run / FOLDER
    try:
        settings = msgspec.json.decode((folder / SETTINGS).read_bytes(), type=JobSettings)
        plan = (folder / PLAN).read_bytes()
        found = decode(plan)
    except OSError as error:
        raise RunFault(f"{error.filename}: {error.strerror}; does this node see the run folder?") from error
    except msgspec.MsgspecError as error:
        raise RunFault(f"{folder}: not what was frozen at submission: {error}") from error
    if digest(plan) != settings.digest:
        raise RunFault(f"{folder / PLAN} was changed after the submission; submit again")
    return Frozen(settings, found, folder / RECIPE, folder / CLUSTER)


def host_teardown_s(run: Path) -> float:
    """Seconds that the commands after the run may take; 0 where there are none, or nothing frozen is here."""
    try:
        host = msgspec.json.decode((run / FOLDER / SETTINGS).read_bytes(), type=JobSettings).host
    except (OSError, msgspec.MsgspecError):
        return 0.0
    return host.timeout_s if host.teardown else 0.0
