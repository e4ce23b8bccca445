"""`kubeproto record`: a watch with its timing, to a file."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import (
    ConnectionOptions,
    asyncio_run,
    connected,
    connection_options,
    require_one_place,
    seconds,
)
from ._errors import CommandFailed
from ._output import note

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import BinaryIO

    from anyio import CancelScope

    from kubeproto import Dynamic
    from kubeproto_runtime.client import BoundApi


@click.command(
    cls=Command,
    examples=[
        ("all pods of a namespace, until Ctrl-C", "kubeproto record pods -n shop -o pods.jsonl"),
        ("ten minutes of all namespaces", "kubeproto record deployments -A --for 10m -o deploy.jsonl"),
        ("of one application, to standard output", "kubeproto record pods -l app=web"),
    ],
)  # fmt: skip
@click.argument("kind", metavar="TYPE")
@click.option(
    "--output", "-o", default="-", type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE",
    help="Where to write it; standard output by default.",
)  # fmt: skip
@click.option(
    "--for",
    "duration",
    type=seconds,
    metavar="DURATION",
    help="How long to record after the existing objects, such as 10m.",
)
@click.option("--selector", "-l", default="", metavar="LABELS", help="Only objects with these labels.")
@click.option("--field-selector", default="", metavar="FIELDS", help="Only objects with these fields.")
@connection_options(all_namespaces=True)
def record(connection: ConnectionOptions, **given: Any) -> None:
    """Record a watch with its timing, for `kubeproto replay`.

    It begins with the existing objects and ends by Ctrl-C, SIGTERM or --for. Objects are written as the
    server sends them, Secrets included; a new file is readable by you alone.
    """
    require_one_place(connection)
    with _opened(given["output"]) as file:
        count = asyncio_run(_record, connection, given, file)
    note(f"# {count} events recorded")


@contextmanager
def _opened(path: str) -> Generator[BinaryIO]:
    if path == "-":
        yield sys.stdout.buffer
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "wb") as file:
        yield file


async def _record(connection: ConnectionOptions, given: dict[str, Any], file: BinaryIO) -> int:
    import anyio

    counted: list[int] = [0]
    async with connected(connection) as client:
        found = await client.resources(given["kind"], namespace=connection.place)
        if len(found) != 1:
            raise CommandFailed(f"{given['kind']} is several kinds: record one of them", status=2)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_until_signal, tasks.cancel_scope)
            with anyio.CancelScope() as scope:
                await _follow(found[0], given, file, counted, scope)
            tasks.cancel_scope.cancel()
    return counted[0]


async def _until_signal(scope: Any, *, task_status: Any) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


async def _follow(
    api: BoundApi[Dynamic],
    given: dict[str, Any],
    file: BinaryIO,
    counted: list[int],
    scope: CancelScope,
) -> None:
    import anyio
    import msgspec

    from kubeproto import Added, Bookmark, Deleted, Modified, encode
    from kubeproto.watching import RecordedEvent, RecordingHead

    resource, namespace = api.resource, api.requests.namespace
    head = RecordingHead(
        group=resource.group, version=resource.version, kind=resource.kind, plural=resource.plural,
        namespaced=resource.namespaced, namespace=namespace if isinstance(namespace, str) else "",
        recorded=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    file.write(msgspec.json.encode(head) + b"\n")
    before = time.monotonic()
    async with api.follow(label_selector=given["selector"], field_selector=given["field_selector"]) as events:
        async for event in events:
            now = time.monotonic()
            delay, before = round(now - before, 6), now
            match event:
                case Added(obj):
                    line = RecordedEvent(delay, "ADDED", msgspec.Raw(encode(obj)))
                case Modified(obj):
                    line = RecordedEvent(delay, "MODIFIED", msgspec.Raw(encode(obj)))
                case Deleted(obj):
                    line = RecordedEvent(delay, "DELETED", msgspec.Raw(encode(obj)))
                case Bookmark(initial_events_end=True):
                    line = RecordedEvent(delay, "SYNCED")
                    if given["duration"] is not None:
                        scope.deadline = anyio.current_time() + given["duration"]
                case _:
                    continue
            file.write(line.line())
            file.flush()
            counted[0] += line.type != "SYNCED"
