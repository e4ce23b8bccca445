"""`kubeproto doctor`: what is wrong with a kubeconfig, a server or an account, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connection_options, warnings_shown
from ._output import BOLD, DIM, GREEN, RED, YELLOW, result, styled, use_color

if TYPE_CHECKING:
    from kubeproto_runtime.diagnosis import Check
    from kubeproto_runtime.manifests import RequiredAccess

_STYLES: Final = {"ok": GREEN, "warning": YELLOW, "failed": RED, "skipped": DIM}
_TIMEOUT: Final = 10.0


@click.command(
    cls=Command,
    examples=[
        ("the way to the cluster that kubectl would use", "kubeproto doctor"),
        ("another context, as an operator's account, with the rights that its tests recorded",
         "kubeproto doctor --context prod --as system:serviceaccount:books:operator --access access.json"),
        ("for a script: one JSON object a check; the exit status is 1 if one has failed",
         "kubeproto doctor -o json"),
    ],
)  # fmt: skip
@connection_options()
@click.option(
    "--access", type=click.Path(dir_okay=False), metavar="FILE",
    help="Check these rights too, as AccessRecorder has written them in an operator's tests.",
)  # fmt: skip
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def doctor(connection: ConnectionOptions, **given: Any) -> int:
    """Check the way to a cluster, and say what to do about what is wrong.

    Looks at the kubeconfig, credentials, connection, server, clock, account and rights, in this order, and
    ends where nothing further can be seen. It sends reviews, which no server keeps, and shows no secret.
    """
    needed = _needed(given["access"])
    checks = asyncio_run(_diagnose, connection, needed, given["output"] == "json")
    failures = [check for check in checks if check.outcome == "failed"]
    return 1 if failures else 0


def _needed(path: str | None) -> frozenset[RequiredAccess]:
    if path is None:
        return frozenset()
    from kubeproto_runtime.manifests import parse_access

    try:
        return parse_access(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


async def _diagnose(
    connection: ConnectionOptions, needed: frozenset[RequiredAccess], json: bool
) -> tuple[Check, ...]:
    import logging
    import sys

    from kubeproto_runtime.diagnosis import Diagnosing, diagnose

    color = use_color(sys.stdout)
    options = Diagnosing(
        needed=needed,
        timeout=min(connection.request_timeout or _TIMEOUT, _TIMEOUT),
        notify=lambda check: result(_as_json(check) if json else _as_text(check, color)),
    )
    with warnings_shown(logging.ERROR):  # the checks include what a client would warn about
        return await diagnose(options, **connection.wanted)


def _as_json(check: Check) -> str:
    import msgspec

    return msgspec.json.encode(check).decode()


def _as_text(check: Check, color: bool) -> str:
    outcome = styled(f"{check.outcome:<8}", _STYLES[check.outcome], color)
    lines = [f"{outcome} {styled(f'{check.name:<12}', BOLD, color)} {check.found}"]
    if check.advice:
        lines.append(f"{'':21} to do: {check.advice}")
    return "\n".join(lines)
