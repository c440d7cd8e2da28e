"""``inferlane doctor``: load everything, each on its own, and say what is wrong."""

from __future__ import annotations

import click

from inferlane.cli.options import plugins_from_context


@click.command()
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too, such as a broken plugin of somebody else.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def doctor(strict: bool, as_json: bool) -> int:
    """Load every plugin, each isolated, and report what is wrong with it and with this installation.

    Exit status 1 if anything built in, or of this project's own plugins, is bad; with --strict also on warnings.
    """
    from inferlane.plugins.health import examine

    findings = examine(plugins_from_context())
    bad = any(finding.level == "bad" or (strict and finding.level == "warning") for finding in findings)
    if as_json:
        import json

        items = [{"level": f.level, "subject": f.subject, "detail": f.detail} for f in findings]
        click.echo(json.dumps({"ok": not bad, "findings": items}, indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.level:8}{finding.subject}{': ' if finding.detail else ''}{finding.detail}")
    return 1 if bad else 0
