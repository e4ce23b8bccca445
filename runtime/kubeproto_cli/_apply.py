"""`kubeproto apply`: the objects of files, folders and standard input, by server-side apply."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ._command_errors import CommandFailed
from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._output import RED, YELLOW, print_note, print_result, styled, use_color
from ._planning import explain_refusals, plan_files, planning_options, read_files, ref_name

if TYPE_CHECKING:
    from kubeproto_runtime.sets import ManifestFiles, Plan


@click.command(
    cls=Command,
    examples=[
        ("a file, or all files of a folder", "kubeproto apply -f deploy.yaml -f deploy/"),
        ("the output of another program", "kubeproto apply -f -"),
        ("a preview, without a write", "kubeproto apply -f deploy/ --dry-run"),
        ("delete the objects that have been removed from the files",
         "kubeproto apply -f deploy/ --prune --applyset configmaps/shop"),
        ("take over fields that others own", "kubeproto apply -f deploy.yaml --force-conflicts"),
    ],
)  # fmt: skip
@planning_options
@click.option("--dry-run", is_flag=True, help="Print the changes that dry runs on the server show.")
@click.option("--partial", is_flag=True, help="If some objects are refused, apply the others anyway.")
@connection_options()
def apply(connection: ConnectionOptions, dry_run: bool, partial: bool, **options: Any) -> None:
    """Apply files, folders or standard input, by server-side apply.

    All objects are planned first, by dry runs; if the server refuses an object, nothing is written. Objects
    are applied in the order of their dependencies: namespaces, definitions (until they are served), roles,
    configuration, workloads. With --prune, members of the set that are in no file any more are deleted.
    """
    asyncio_run(_apply, connection, read_files(options), options, dry_run, partial)


async def _apply(
    connection: ConnectionOptions, files: ManifestFiles, options: dict[str, Any], dry_run: bool, partial: bool
) -> None:
    async with connected(connection) as client:
        plan = await plan_files(client, files, options, connection)
        problems = explain_refusals(plan)
        for problem in problems:
            print_note(f"{styled('refused:', RED, use_color(sys.stderr))} {problem}")
        if dry_run:
            _print_plan(plan)
        elif not problems or partial:
            from kubeproto_runtime.writing import ApplyError

            try:
                performed = await client.perform(plan, partial=partial)
            except ApplyError as error:
                _print_applied(error.applied)
                raise
            _print_applied(performed.applied)
            for ref in plan.unchanged:
                print_result(f"{ref_name(ref)} unchanged")
            for ref in performed.deleted:
                print_result(f"{ref_name(ref)} pruned")
        if plan.withheld_because and not problems:
            label = styled("nothing is pruned:", YELLOW, use_color(sys.stderr))
            print_note(f"{label} {plan.withheld_because}")
        if problems:
            result = "the others were applied" if partial and not dry_run else "nothing was written"
            raise CommandFailed(f"{len(problems)} of the objects cannot be applied, and {result}")


def _print_applied(results: Any) -> None:
    from kubeproto import ObjectRef

    for applied in results:
        print_result(f"{ref_name(ObjectRef.of(applied.obj))} {applied.outcome}")


def _print_plan(plan: Plan) -> None:
    """Print the planned changes in the form of `_print_applied`."""
    from kubeproto_runtime.sets import PlannedCreation

    for write in plan.writes:
        outcome = "created" if isinstance(write, PlannedCreation) else "configured"
        print_result(f"{ref_name(write.ref)} {outcome} (dry run)")
    for ref in plan.unchanged:
        print_result(f"{ref_name(ref)} unchanged (dry run)")
    for deletion in plan.deletions:
        print_result(f"{ref_name(deletion.ref)} pruned (dry run)")
