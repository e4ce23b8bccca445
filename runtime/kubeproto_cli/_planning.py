"""What `apply` and `diff` share: options, files, the plan, and refusals in words for a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubeproto.wire import printable

from ._errors import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import ObjectRef
    from kubeproto_runtime import Client
    from kubeproto_runtime.sets import ApplySet, ManifestFiles, Plan

    from ._connecting import ConnectionOptions


def planning_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for what is applied, and as which manager."""
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
        help="The name by which the fields are owned.",
    ),
    click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own."),
    click.option("--prune", is_flag=True, help="With --applyset: delete members that are in no file."),
    click.option("--applyset", default="", metavar="TYPE/NAME", help="The parent of the set, for --prune."),
)  # fmt: skip


def read_files(paths: tuple[str, ...], *, recursive: bool) -> ManifestFiles:
    """Read all files; it is an error if they are empty, since nobody intends that."""
    from kubeproto_runtime.sets import read_manifests

    files = read_manifests(*paths, recursive=recursive)
    if not files.objects and not files.failures:
        raise CommandFailed(f"there is no object in {', '.join(paths)}")
    return files


def require_set(given: dict[str, Any]) -> None:
    """Refuse --prune without --applyset and the reverse, before anything is read or requested."""
    if given["prune"] != bool(given["applyset"]):
        raise click.UsageError("--prune and --applyset belong together: members of the set are pruned")


async def plan_files(
    client: Client, files: ManifestFiles, given: dict[str, Any], connection: ConnectionOptions
) -> Plan:
    """Plan to apply these files, as the options of `planning_options` say."""
    return await client.plan(
        files,
        _set_of(given),
        field_manager=given["field_manager"],
        force=given["force_conflicts"],
        namespace=connection.namespace or "",
    )


def _set_of(given: dict[str, Any]) -> ApplySet | None:
    """Return the set that is to be pruned, if any."""
    from kubeproto_runtime.sets import ApplySet

    return ApplySet(given["applyset"]) if given["applyset"] else None


def ref_name(ref: ObjectRef[Any]) -> str:
    """Return ``deployment.apps/web``."""
    kind = ref.kind.lower()
    return printable(f"{kind}.{ref.group}/{ref.name}" if ref.group else f"{kind}/{ref.name}")


def explain_refusals(plan: Plan) -> list[str]:
    """Return a line for each object that cannot be applied, with what to do about it."""
    lines = [printable(one, 2000) for one in plan.unreadable]
    for one in plan.refusals:
        if one.conflicts:
            owners = "; ".join(map(str, one.conflicts))
            advice = "leave these fields out, or take them over with --force-conflicts"
            lines.append(f"{ref_name(one.ref)}: {owners}: {advice}")
        else:
            lines.append(f"{ref_name(one.ref)}: {printable(one.why, 2000)}")
    return lines
