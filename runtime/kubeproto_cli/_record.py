"""`kubeproto record`: writes the events of a watch to a file, with their delays."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ._command_errors import CommandFailed
from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, seconds
from ._output import print_note

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import BinaryIO

    from anyio import CancelScope
    from anyio.abc import TaskStatus

    from kubeproto import Dynamic
    from kubeproto_runtime.client import BoundApi


@click.command(
    cls=Command,
    examples=[
        ("all pods of a namespace, until Ctrl-C", "kubeproto record pods -n shop -o pods.jsonl"),
        ("ten minutes of all namespaces", "kubeproto record deployments -A --for 10m -o deploy.jsonl"),
        ("of an application, to standard output", "kubeproto record pods -l app=web"),
    ],
)  # fmt: skip
@click.argument("kind", metavar="TYPE")
@click.option(
    "--output", "-o", default="-", type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE",
    help="The file to write; standard output by default.",
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
def record(connection: ConnectionOptions, **options: Any) -> None:
    """Record a watch with its timing, for `kubeproto replay`.

    It begins with the existing objects and ends with Ctrl-C, SIGTERM or --for. Objects are written as the
    server sends them, including Secrets; only you can read a new file.
    """
    with _open_output(options["output"]) as file:
        count = asyncio_run(_record, connection, options, file)
    print_note(f"# {count} events recorded")


@contextmanager
def _open_output(path: str) -> Generator[BinaryIO]:
    if path == "-":
        yield sys.stdout.buffer
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "wb") as file:
        yield file


async def _record(connection: ConnectionOptions, options: dict[str, Any], file: BinaryIO) -> int:
    """Record until a signal or the end of the duration, and return the number of events."""
    import anyio

    async with connected(connection) as client:
        apis = await client.resources(options["kind"], namespace=connection.scope)
        if len(apis) != 1:
            raise CommandFailed(f"{options['kind']} is several kinds: choose a single kind", status=2)
        recorder = _Recorder(apis[0], file)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_cancel_on_signal, tasks.cancel_scope)
            await recorder.run(options["selector"], options["field_selector"], options["duration"])
            tasks.cancel_scope.cancel()
    return recorder.count


async def _cancel_on_signal(scope: CancelScope, *, task_status: TaskStatus[None]) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


class _Recorder:
    """Writes the events of a watch with their delays, and counts them."""

    def __init__(self, api: BoundApi[Dynamic], file: BinaryIO) -> None:
        self.count = 0
        self._api = api
        self._file = file

    async def run(self, labels: str, fields: str, duration: float | None) -> None:
        """Record for a duration after the existing objects; without a duration, until cancelled."""
        import anyio
        import msgspec

        from kubeproto import Added, Bookmark, Deleted, Modified, encode
        from kubeproto.watching import RecordedEvent

        self._write_header()
        previous = time.monotonic()
        with anyio.CancelScope() as scope:
            async with self._api.follow(label_selector=labels, field_selector=fields) as events:
                async for event in events:
                    now = time.monotonic()
                    delay = round(now - previous, 6)
                    match event:
                        case Added(obj):
                            line = RecordedEvent(delay, "ADDED", msgspec.Raw(encode(obj)))
                        case Modified(obj):
                            line = RecordedEvent(delay, "MODIFIED", msgspec.Raw(encode(obj)))
                        case Deleted(obj):
                            line = RecordedEvent(delay, "DELETED", msgspec.Raw(encode(obj)))
                        case Bookmark(initial_events_end=True):
                            line = RecordedEvent(delay, "SYNCED")
                            if duration is not None:
                                scope.deadline = anyio.current_time() + duration
                        case _:
                            continue
                    previous = now
                    self._file.write(line.line())
                    self._file.flush()
                    self.count += line.type != "SYNCED"

    def _write_header(self) -> None:
        import msgspec

        from kubeproto.watching import RecordingHead

        resource, namespace = self._api.resource, self._api.requests.namespace
        head = RecordingHead(
            group=resource.group, version=resource.version, kind=resource.kind, plural=resource.plural,
            namespaced=resource.namespaced, namespace=namespace if isinstance(namespace, str) else "",
            recorded=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
        self._file.write(msgspec.json.encode(head) + b"\n")
