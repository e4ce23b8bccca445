"""`kubeproto doctor`: problems of a kubeconfig, a server or an account, with their remedies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connection_options, warnings_to_stderr
from ._output import BOLD, DIM, GREEN, RED, YELLOW, print_result, styled, use_color

if TYPE_CHECKING:
    from kubeproto_runtime.diagnosis import Check
    from kubeproto_runtime.manifests import RequiredAccess

_STYLES: Final = {"ok": GREEN, "warning": YELLOW, "failed": RED, "skipped": DIM}
_TIMEOUT: Final = 10.0


@click.command(
    cls=Command,
    examples=[
        ("the connection to the cluster that kubectl would use", "kubeproto doctor"),
        ("another context, as an operator's account, with the permissions that its tests recorded",
         "kubeproto doctor --context prod --as system:serviceaccount:books:operator --access access.json"),
        ("for a script: a JSON object for each check; the exit status is 1 if a check has failed",
         "kubeproto doctor -o json"),
    ],
)  # fmt: skip
@connection_options()
@click.option(
    "--access", type=click.Path(dir_okay=False), metavar="FILE",
    help="Check these permissions too: a file that AccessRecorder wrote in an operator's tests.",
)  # fmt: skip
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def doctor(connection: ConnectionOptions, access: str | None, output: str) -> int:
    """Check the connection to a cluster, and report problems with their remedies.

    Checks the kubeconfig, credentials, connection, server, clock, account and permissions, in this order,
    until a failure makes further checks impossible. It sends reviews, which no server stores, and prints no
    secret.
    """
    checks = asyncio_run(_diagnose, connection, _read_access(access), output == "json")
    return 1 if any(check.outcome == "failed" for check in checks) else 0


def _read_access(path: str | None) -> frozenset[RequiredAccess]:
    if path is None:
        return frozenset()
    from kubeproto_runtime.manifests import parse_access

    try:
        return parse_access(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


async def _diagnose(
    connection: ConnectionOptions, required: frozenset[RequiredAccess], json: bool
) -> tuple[Check, ...]:
    import logging
    import sys

    from kubeproto_runtime.diagnosis import DiagnoseOptions, diagnose

    color = use_color(sys.stdout)
    options = DiagnoseOptions(
        needed=required,
        timeout=min(connection.request_timeout or _TIMEOUT, _TIMEOUT),
        notify=lambda check: print_result(_as_json(check) if json else _as_text(check, color)),
    )
    with warnings_to_stderr(logging.ERROR):  # the checks include the warnings of a client
        return await diagnose(options, **connection.parameters)


def _as_json(check: Check) -> str:
    import msgspec

    return msgspec.json.encode(check).decode()


def _as_text(check: Check, color: bool) -> str:
    outcome = styled(f"{check.outcome:<8}", _STYLES[check.outcome], color)
    lines = [f"{outcome} {styled(f'{check.name:<12}', BOLD, color)} {check.finding}"]
    if check.advice:
        lines.append(f"{'':21} to do: {check.advice}")
    return "\n".join(lines)
