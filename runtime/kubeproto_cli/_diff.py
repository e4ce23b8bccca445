"""`kubeproto diff`: what applying files would change, as a unified diff."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._errors import CommandFailed
from ._output import BOLD, CYAN, GREEN, RED, note, result, styled, use_color
from ._planning import explain_refusals, plan_files, planning_options, read_files, ref_name, require_set

if TYPE_CHECKING:
    from kubeproto_runtime.sets import ManifestFiles, Plan

_STYLES: Final = {"+": GREEN, "-": RED, "@": CYAN}


@click.command(
    cls=Command,
    failure_status=2,
    examples=[
        ("what a file would change", "kubeproto diff -f deploy.yaml"),
        ("in a script: 0 without a difference, 1 with one, more is an error", "kubeproto diff -f deploy/ -R"),
        ("with what would be pruned", "kubeproto diff -f deploy/ --prune --applyset configmaps/shop"),
    ],
)
@planning_options
@connection_options()
def diff(connection: ConnectionOptions, **given: Any) -> None:
    """Show what applying files would change, as a unified diff.

    The server says, by dry runs, so its defaults and what webhooks do are in it. The values of Secrets are
    not shown. The exit status is 0 without a difference, 1 with one, and more than 1 if it failed.
    """
    require_set(given)
    files = read_files(given["filename"], recursive=given["recursive"])
    if asyncio_run(_diff, connection, files, given):
        raise click.exceptions.Exit(1)


async def _diff(connection: ConnectionOptions, files: ManifestFiles, given: dict[str, Any]) -> bool:
    async with connected(connection) as client:
        plan = await plan_files(client, files, given, connection)
    color = use_color(sys.stdout)
    for line in diff_lines(plan):
        header = line.startswith(("--- ", "+++ "))
        result(styled(line, BOLD if header else _STYLES.get(line[:1], ""), color))
    problems = explain_refusals(plan)
    for line in problems:
        note(f"refused: {line}")
    if plan.withheld_because and not problems:
        note(f"nothing would be pruned: {plan.withheld_because}")
    if problems:
        raise CommandFailed(f"{len(problems)} of the objects cannot be compared", status=2)
    return bool(plan.writes or plan.deletions)


def diff_lines(plan: Plan) -> list[str]:
    """Return the lines of the diff, for each object that would change, be created or be pruned."""
    from kubeproto_runtime.sets import PlannedCreation

    lines: list[str] = []
    for one in plan.writes:
        name = f"{one.ref.namespace}/{ref_name(one.ref)}" if one.ref.namespace else ref_name(one.ref)
        created = isinstance(one, PlannedCreation)
        lines += [f"--- {'/dev/null' if created else f'live/{name}'}", f"+++ applied/{name}"]
        lines += [f"@@ -0,0 +1,{len(one.diff)} @@"] if created and one.diff else []
        lines += one.diff or ["# only the owners of its fields would change"]
    for gone in plan.deletions:
        name = f"{gone.ref.namespace}/{ref_name(gone.ref)}" if gone.ref.namespace else ref_name(gone.ref)
        lines += [f"--- live/{name}", "+++ /dev/null", "# it would be deleted"]
    return lines
