"""`kubeproto diff`: the changes that applying files would make, as a unified diff."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from ._command_errors import CommandFailed
from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._output import BOLD, CYAN, GREEN, RED, print_note, print_result, styled, use_color
from ._planning import explain_refusals, plan_files, planning_options, read_files, ref_name

if TYPE_CHECKING:
    from kubeproto import ObjectRef
    from kubeproto_runtime.sets import ManifestFiles, Plan

_STYLES: Final = {"+": GREEN, "-": RED, "@": CYAN}


@click.command(
    cls=Command,
    failure_status=2,
    examples=[
        ("the changes of a file", "kubeproto diff -f deploy.yaml"),
        ("in a script: 0 without differences, 1 with differences, more is an error",
         "kubeproto diff -f deploy/ -R"),
        ("with the objects that would be pruned",
         "kubeproto diff -f deploy/ --prune --applyset configmaps/shop"),
    ],
)  # fmt: skip
@planning_options
@connection_options()
def diff(connection: ConnectionOptions, **options: Any) -> None:
    """Show what applying files would change, as a unified diff.

    The diff comes from dry runs on the server, so it includes defaults and the changes of webhooks. The
    values of Secrets are not shown. The exit status is 0 without differences, 1 with differences, and more
    than 1 after a failure.
    """
    if asyncio_run(_diff, connection, read_files(options), options):
        raise click.exceptions.Exit(1)


async def _diff(connection: ConnectionOptions, files: ManifestFiles, options: dict[str, Any]) -> bool:
    async with connected(connection) as client:
        plan = await plan_files(client, files, options, connection)
    color = use_color(sys.stdout)
    for line in _diff_lines(plan):
        is_header = line.startswith(("--- ", "+++ "))
        print_result(styled(line, BOLD if is_header else _STYLES.get(line[:1], ""), color))
    problems = explain_refusals(plan)
    for problem in problems:
        print_note(f"refused: {problem}")
    if plan.withheld_because and not problems:
        print_note(f"nothing would be pruned: {plan.withheld_because}")
    if problems:
        raise CommandFailed(f"{len(problems)} of the objects cannot be compared", status=2)
    return bool(plan.writes or plan.deletions)


def _diff_lines(plan: Plan) -> list[str]:
    """Return the lines of the diff, for each object that would be changed, created or pruned."""
    from kubeproto_runtime.sets import PlannedCreation

    lines: list[str] = []
    for write in plan.writes:
        name = _ref_path(write.ref)
        created = isinstance(write, PlannedCreation)
        lines += [f"--- {'/dev/null' if created else f'live/{name}'}", f"+++ applied/{name}"]
        lines += [f"@@ -0,0 +1,{len(write.diff)} @@"] if created and write.diff else []
        lines += write.diff or ["# only the owners of its fields would change"]
    for deletion in plan.deletions:
        lines += [f"--- live/{_ref_path(deletion.ref)}", "+++ /dev/null", "# it would be deleted"]
    return lines


def _ref_path(ref: ObjectRef[Any]) -> str:
    return f"{ref.namespace}/{ref_name(ref)}" if ref.namespace else ref_name(ref)
