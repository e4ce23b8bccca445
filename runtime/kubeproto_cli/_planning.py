"""The common part of `apply` and `diff`: options, files, the plan, and the lines for refused objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubeproto.wire import printable

from ._command_errors import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import ObjectRef
    from kubeproto_runtime import Client
    from kubeproto_runtime.sets import ManifestFiles, Plan

    from ._connecting import ConnectionOptions


def planning_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the files, the set and the field manager."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS = (
    click.option(
        "--filename", "-f", multiple=True, required=True, metavar="PATH",
        help="A file, a folder, or - for standard input; may be given several times.",
    ),
    click.option("--recursive", "-R", is_flag=True, help="Read the folders in a folder too."),
    click.option(
        "--field-manager", default="kubeproto", show_default=True, metavar="NAME",
        help="The name of the owner of the applied fields.",
    ),
    click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own."),
    click.option("--prune", is_flag=True, help="With --applyset: delete members that are in no file."),
    click.option("--applyset", default="", metavar="TYPE/NAME", help="The parent of the set, for --prune."),
)  # fmt: skip


def read_files(options: dict[str, Any]) -> ManifestFiles:
    """Check the options, and read all files. Raise `CommandFailed` if they contain no object."""
    if options["prune"] != bool(options["applyset"]):
        raise click.UsageError("--prune and --applyset belong together: members of the set are pruned")
    from kubeproto_runtime.sets import read_manifests

    paths: tuple[str, ...] = options["filename"]
    files = read_manifests(*paths, recursive=options["recursive"])
    if not files.objects and not files.failures:
        raise CommandFailed(f"there is no object in {', '.join(paths)}")
    return files


async def plan_files(
    client: Client, files: ManifestFiles, options: dict[str, Any], connection: ConnectionOptions
) -> Plan:
    """Return the plan to apply these files with the options of `planning_options`."""
    from kubeproto_runtime.sets import ApplySet

    return await client.plan(
        files,
        ApplySet(options["applyset"]) if options["applyset"] else None,
        field_manager=options["field_manager"],
        force=options["force_conflicts"],
        namespace=connection.namespace or "",
    )


def ref_name(ref: ObjectRef[Any]) -> str:
    """Return ``deployment.apps/web``."""
    kind = ref.kind.lower()
    return printable(f"{kind}.{ref.group}/{ref.name}" if ref.group else f"{kind}/{ref.name}")


def explain_refusals(plan: Plan) -> list[str]:
    """Return a line with the problem and its remedy for each object that cannot be applied."""
    lines = [printable(problem, 2000) for problem in plan.unreadable]
    for refusal in plan.refusals:
        if refusal.conflicts:
            owners = "; ".join(map(str, refusal.conflicts))
            remedy = "remove these fields, or take them over with --force-conflicts"
            lines.append(f"{ref_name(refusal.ref)}: {owners}: {remedy}")
        else:
            lines.append(f"{ref_name(refusal.ref)}: {printable(refusal.reason, 2000)}")
    return lines
