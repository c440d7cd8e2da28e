"""What would be submitted, for a person to read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from inferlane.preparation import Prepared
from inferlane.slurm.launch import passed_names
from inferlane.slurm.script import render
from inferlane.values import Plan

RUN = Path("RUN")
"""Stands for the run folder, which is made at submission."""


def script_of(prepared: Prepared, plan: Plan) -> str:
    """The job script of a plan."""
    return render(plan, prepared.hidden, prepared.site, RUN, prepared.site.python or sys.executable)


def passed_line(prepared: Prepared) -> str:
    """Names of the variables that the job would get from this environment; empty if there are none."""
    names = passed_names(prepared, os.environ, False)
    return f"note: passed to the job by name: {', '.join(names)}" if names else ""
