"""`kubeproto apply`: the objects of files, folders and standard input, by server-side apply."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._errors import CommandFailed
from ._output import RED, YELLOW, note, result, styled, use_color
from ._planning import explain_refusals, plan_files, planning_options, read_files, ref_name, require_set

if TYPE_CHECKING:
    from kubeproto_runtime.sets import ManifestFiles, Plan


@click.command(
    cls=Command,
    examples=[
        ("a file, or all files of a folder", "kubeproto apply -f deploy.yaml -f deploy/"),
        ("what another program prints", "kubeproto apply -f -"),
        ("what would happen, without doing it", "kubeproto apply -f deploy/ --dry-run"),
        ("and delete what the set does not have any more",
         "kubeproto apply -f deploy/ --prune --applyset configmaps/shop"),
        ("take over fields that others own", "kubeproto apply -f deploy.yaml --force-conflicts"),
    ],
)  # fmt: skip
@planning_options
@click.option("--dry-run", is_flag=True, help="Say what would be done, after dry runs on the server.")
@click.option("--partial", is_flag=True, help="If some objects are refused, apply the others anyway.")
@connection_options()
def apply(connection: ConnectionOptions, dry_run: bool, partial: bool, **given: Any) -> None:
    """Apply files, folders or standard input, by server-side apply.

    All objects are planned first, by dry runs; if one is refused, nothing is written. The order is one in
    which each object finds what it needs: namespaces, definitions (which are waited for), rights,
    configuration, what runs. With --prune, members of the set that are in no file any more are deleted.
    """
    require_set(given)
    files = read_files(given["filename"], recursive=given["recursive"])
    asyncio_run(_apply, connection, files, given, dry_run, partial)


async def _apply(
    connection: ConnectionOptions, files: ManifestFiles, given: dict[str, Any], dry_run: bool, partial: bool
) -> None:
    async with connected(connection) as client:
        plan = await plan_files(client, files, given, connection)
        problems = explain_refusals(plan)
        for line in problems:
            note(f"{styled('refused:', RED, use_color(sys.stderr))} {line}")
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
                result(f"{ref_name(ref)} unchanged")
            for ref in performed.deleted:
                result(f"{ref_name(ref)} pruned")
        if plan.withheld_because and not problems:
            note(f"{styled('nothing is pruned:', YELLOW, use_color(sys.stderr))} {plan.withheld_because}")
        if problems:
            rest = "the others were applied" if partial and not dry_run else "nothing was written"
            raise CommandFailed(f"{len(problems)} of the objects cannot be applied, and {rest}")


def _print_applied(applied: Any) -> None:
    from kubeproto import ObjectRef

    for one in applied:
        result(f"{ref_name(ObjectRef.of(one.obj))} {one.outcome}")


def _print_plan(plan: Plan) -> None:
    """Print what would be done, in the words for what was done."""
    from kubeproto_runtime.sets import PlannedCreation

    for one in plan.writes:
        done = "created" if isinstance(one, PlannedCreation) else "configured"
        result(f"{ref_name(one.ref)} {done} (dry run)")
    for ref in plan.unchanged:
        result(f"{ref_name(ref)} unchanged (dry run)")
    for gone in plan.deletions:
        result(f"{ref_name(gone.ref)} pruned (dry run)")
