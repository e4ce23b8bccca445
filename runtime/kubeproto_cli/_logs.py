"""`kubeproto logs`: the logs of one container or of many, read to their ends or followed."""

from __future__ import annotations

import sys
import zlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, seconds
from ._output import styled, use_color

if TYPE_CHECKING:
    from datetime import datetime

    from kubeproto_runtime.pods import LogLine, ReadLogsOptions

# The color of a container is the same in every run. Red and gray have other meanings.
_COLORS: Final = ("36", "33", "32", "35", "34", "96", "93", "92", "95", "94")
# kubectl's default --tail with a selector.
_TAIL_WITH_SELECTOR: Final = 10


class _LogOptions(Struct, frozen=True, kw_only=True):
    """The arguments and options of the command."""

    target: str
    selector: str
    container: str
    all_containers: bool
    follow: bool
    previous: bool
    since: float | None
    since_time: datetime | None
    tail: int | None
    timestamps: bool
    prefix: bool | None
    max_log_requests: int | None
    limit_bytes: int | None
    ignore_errors: bool


def _parse_time(text: str) -> datetime:
    """Parse a time in the form of RFC 3339, with an offset, like kubectl."""
    from datetime import datetime

    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise click.BadParameter(f"{text!r} is not an RFC 3339 time: expected 2026-03-01T12:00:00Z")
    return parsed


@click.command(
    cls=Command,
    examples=[
        ("a pod", "kubeproto logs web-0"),
        ("all pods of a Deployment, as they are written", "kubeproto logs -f deploy/shop --all-containers"),
        ("the last hour of all pods with a label", "kubeproto logs -l app=shop --since 1h --tail -1"),
        ("why it was restarted", "kubeproto logs web-0 --previous"),
    ],
)
@click.argument("target", required=False, default="", metavar="[POD | TYPE/NAME]")
@click.option("--selector", "-l", default="", help="The pods with these labels, such as app=shop.")
@click.option("--container", "-c", default="", metavar="NAME", help="This container of each pod.")
@click.option("--all-containers", is_flag=True, help="All containers; otherwise the first of each pod.")
@click.option(
    "--follow", "-f", is_flag=True,
    help="Continue with new lines: through restarts and lost connections, with pods that appear later.",
)  # fmt: skip
@click.option("--previous", "-p", is_flag=True, help="The run before the last restart.")
@click.option("--since", type=seconds, metavar="DURATION", help="Only lines that are not older, such as 5m.")
@click.option(
    "--since-time", type=_parse_time, metavar="TIME", help="Only lines that are not older than this time."
)
@click.option("--tail", type=int, metavar="LINES", help="The last lines of each; 10 with -l, else all: -1.")
@click.option("--timestamps", is_flag=True, help="Show the time of each line.")
@click.option(
    "--prefix/--no-prefix", default=None, help="Show pod and container of each line; by default for several."
)
@click.option(
    "--max-log-requests", type=click.IntRange(1), help="The maximum number of followed containers; 50."
)
@click.option(
    "--limit-bytes", type=click.IntRange(1), help="End the log of each container after this many bytes."
)
@click.option("--ignore-errors", is_flag=True, help="Continue with the others when a log cannot be read.")
@connection_options()
def logs(connection: ConnectionOptions, **arguments: Any) -> None:
    """Print the logs of pods.

    TARGET is a pod, or an object that selects pods: deploy/shop, svc/shop, job/import.
    """
    options = _LogOptions(**arguments)
    if bool(options.target) == bool(options.selector):
        raise click.UsageError("expected either a pod or TYPE/NAME, or --selector")
    if options.since is not None and options.since_time is not None:
        raise click.UsageError("--since and --since-time are mutually exclusive")
    asyncio_run(_print_logs, connection, options)


async def _print_logs(connection: ConnectionOptions, options: _LogOptions) -> None:
    from kubeproto_runtime.pods import read_logs

    color = use_color(sys.stdout)
    kind = options.target.partition("/")[0] if "/" in options.target else "pod"
    several = bool(options.selector) or options.all_containers or kind not in ("pod", "pods", "po")
    with_prefix = several if options.prefix is None else options.prefix
    write = sys.stdout.buffer.write
    async with (
        connected(connection) as client,
        read_logs(client, options.target, **_read_parameters(connection, options)) as lines,
        aclosing(lines.batches()) as batches,
    ):
        starts_line = True
        async for batch in batches:
            for line in batch:
                write(_format(line, options, with_prefix=with_prefix and starts_line, color=color))
                starts_line = line.complete
            sys.stdout.buffer.flush()


def _read_parameters(connection: ConnectionOptions, options: _LogOptions) -> ReadLogsOptions:
    tail = options.tail
    if tail is None and options.selector:
        tail = _TAIL_WITH_SELECTOR
    parameters: ReadLogsOptions = {
        "namespace": connection.namespace or "",
        "selector": options.selector,
        "container": options.container,
        "all_containers": options.all_containers,
        "follow": options.follow,
        "previous": options.previous,
        "ignore_errors": options.ignore_errors,
    }
    if options.since_time is not None:
        parameters["since_time"] = options.since_time
    if options.limit_bytes is not None:
        parameters["limit_bytes"] = options.limit_bytes
    if options.since is not None:
        parameters["since_seconds"] = max(1, round(options.since))
    if tail is not None and tail >= 0:
        parameters["tail_lines"] = tail
    if options.max_log_requests is not None:
        parameters["max_containers"] = options.max_log_requests
    return parameters


def _format(line: LogLine, options: _LogOptions, *, with_prefix: bool, color: bool) -> bytes:
    prefix = ""
    if with_prefix:
        label = f"[pod/{line.pod}/{line.container}]"
        style = _COLORS[zlib.crc32(label.encode()) % len(_COLORS)]
        prefix = f"{styled(label, style, color)} "
    if options.timestamps and line.time:
        prefix += f"{line.time} "
    return prefix.encode() + line.text + (b"\n" if line.complete else b"")
