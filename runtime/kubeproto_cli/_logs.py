"""`kubeproto logs`: the logs of one container or of many, as they are or as they are written."""

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

    from kubeproto_runtime.pods import LogLine, LogReading

# A container has the same color each time; red and the shades of gray have other meanings.
_COLORS: Final = ("36", "33", "32", "35", "34", "96", "93", "92", "95", "94")
# What kubectl shows of each of several pods.
_TAIL_OF_MANY: Final = 10


class _Wanted(Struct, frozen=True, kw_only=True):
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


def _moment(text: str) -> datetime:
    """Read a time as kubectl takes it: RFC 3339, with its offset."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.BadParameter(f"{text!r} is not a time of RFC 3339: expected 2026-03-01T12:00:00Z")
    return moment


@click.command(
    cls=Command,
    examples=[
        ("a pod", "kubeproto logs web-0"),
        ("all pods of a Deployment, as they are written", "kubeproto logs -f deploy/shop --all-containers"),
        ("the last hour of what has a label", "kubeproto logs -l app=shop --since 1h --tail -1"),
        ("why it was restarted", "kubeproto logs web-0 --previous"),
    ],
)
@click.argument("target", required=False, default="", metavar="[POD | TYPE/NAME]")
@click.option("--selector", "-l", default="", help="The pods with these labels, such as app=shop.")
@click.option("--container", "-c", default="", metavar="NAME", help="This container of each pod.")
@click.option("--all-containers", is_flag=True, help="All containers; otherwise the first of each pod.")
@click.option(
    "--follow", "-f", is_flag=True,
    help="Go on with what is written: through restarts and lost connections, with pods that appear later.",
)  # fmt: skip
@click.option("--previous", "-p", is_flag=True, help="The run before the last restart.")
@click.option("--since", type=seconds, metavar="DURATION", help="Only what is not older, such as 5m.")
@click.option("--since-time", type=_moment, metavar="TIME", help="Only what is not older than this time.")
@click.option("--tail", type=int, metavar="LINES", help="The last lines of each; 10 with -l, else all: -1.")
@click.option("--timestamps", is_flag=True, help="Show the time of each line.")
@click.option(
    "--prefix/--no-prefix", default=None, help="Show pod and container of each line; by default for several."
)
@click.option("--max-log-requests", type=click.IntRange(1), help="How many containers may be followed; 50.")
@click.option(
    "--limit-bytes", type=click.IntRange(1), help="End the log of each container after this many bytes."
)
@click.option("--ignore-errors", is_flag=True, help="Go on with the others when a log cannot be read.")
@connection_options()
def logs(connection: ConnectionOptions, **given: Any) -> None:
    """Print the logs of pods.

    TARGET is a pod, or an object that selects pods: deploy/shop, svc/shop, job/import.
    """
    wanted = _Wanted(**given)
    if bool(wanted.target) == bool(wanted.selector):
        raise click.UsageError("name a pod or TYPE/NAME, or give --selector: one of the two")
    if wanted.since is not None and wanted.since_time is not None:
        raise click.UsageError("--since and --since-time exclude each other")
    asyncio_run(_print_logs, connection, wanted)


async def _print_logs(connection: ConnectionOptions, wanted: _Wanted) -> None:
    from kubeproto_runtime.pods import read_logs

    color = use_color(sys.stdout)
    kind = wanted.target.partition("/")[0] if "/" in wanted.target else "pod"
    several = bool(wanted.selector) or wanted.all_containers or kind not in ("pod", "pods", "po")
    prefix = several if wanted.prefix is None else wanted.prefix
    write = sys.stdout.buffer.write
    async with (
        connected(connection) as client,
        read_logs(client, wanted.target, **_reading(connection, wanted)) as lines,
        aclosing(lines.batches()) as batches,
    ):
        begins = True
        async for batch in batches:
            for line in batch:
                write(_shown(line, wanted, prefix=prefix and begins, color=color))
                begins = line.whole
            sys.stdout.buffer.flush()


def _reading(connection: ConnectionOptions, wanted: _Wanted) -> LogReading:
    tail = wanted.tail
    if tail is None and wanted.selector:
        tail = _TAIL_OF_MANY
    options: LogReading = {
        "namespace": connection.namespace or "",
        "selector": wanted.selector,
        "container": wanted.container,
        "all_containers": wanted.all_containers,
        "follow": wanted.follow,
        "previous": wanted.previous,
        "ignore_errors": wanted.ignore_errors,
    }
    if wanted.since_time is not None:
        options["since_time"] = wanted.since_time
    if wanted.limit_bytes is not None:
        options["limit_bytes"] = wanted.limit_bytes
    if wanted.since is not None:
        options["since_seconds"] = max(1, round(wanted.since))
    if tail is not None and tail >= 0:
        options["tail_lines"] = tail
    if wanted.max_log_requests is not None:
        options["max_containers"] = wanted.max_log_requests
    return options


def _shown(line: LogLine, wanted: _Wanted, *, prefix: bool, color: bool) -> bytes:
    head = ""
    if prefix:
        place = f"[pod/{line.pod}/{line.container}]"
        shade = _COLORS[zlib.crc32(place.encode()) % len(_COLORS)]
        head = f"{styled(place, shade, color)} "
    if wanted.timestamps and line.time:
        head += f"{line.time} "
    return head.encode() + line.text + (b"\n" if line.whole else b"")
