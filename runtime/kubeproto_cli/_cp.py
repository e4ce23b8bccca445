"""`kubeproto cp`: files to a container and from one, with the progress on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._output import columns_of, note

if TYPE_CHECKING:
    from kubeproto_runtime.pods import Copied

_EVERY: Final = 0.1  # seconds between two lines of progress
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_EXPECTED: Final = "expected LOCAL POD:PATH or POD:PATH LOCAL; a local name with a colon is ./NAME"


class _Remote(NamedTuple):
    """A path in a container."""

    namespace: str
    pod: str
    path: str


@click.command(
    cls=Command,
    examples=[
        ("a file to a pod", "kubeproto cp config.yaml web-0:/etc/shop/"),
        ("a folder from a container", "kubeproto cp web-0:/var/log ./log -c app"),
        ("in another namespace", "kubeproto cp shop/web-0:/data/dump dump"),
    ],
)
@click.argument("source", metavar="[[NAMESPACE/]POD:]SOURCE")
@click.argument("target", metavar="[[NAMESPACE/]POD:]TARGET")
@click.option("--container", "-c", default="", metavar="NAME", help="The container; the first by default.")
@connection_options()
def cp(connection: ConnectionOptions, source: str, target: str, container: str) -> None:
    """Copy files and folders to a container, or from one.

    The container needs a tar. What would lead out of the local target is refused.
    """
    remote_source, remote_target = _remote(source), _remote(target)
    if (remote_source is None) == (remote_target is None):
        raise click.UsageError(f"one of the two is in a pod; {_EXPECTED}")
    copied = asyncio_run(_copy, connection, source, target, container)
    for name, why in copied.left_out:
        note(f"Warning: {name} was left out: {why}")


async def _copy(connection: ConnectionOptions, source: str, target: str, container: str) -> Copied:
    from kubeproto_runtime.pods import copy_from, copy_to

    there = _remote(source) or _remote(target)
    assert there is not None  # it was checked
    place = there.namespace or connection.namespace or ""
    progress = _Progress()
    try:
        async with connected(connection) as client:
            if _remote(source) is not None:
                return await copy_from(
                    client, there.pod, there.path, target, container=container, namespace=place,
                    on_progress=progress.show,
                )  # fmt: skip
            return await copy_to(
                client, there.pod, source, there.path, container=container, namespace=place,
                on_progress=progress.show,
            )  # fmt: skip
    finally:
        progress.end()


def _remote(text: str) -> _Remote | None:
    """Read ``NAMESPACE/POD:PATH`` or ``POD:PATH``; None for a local path."""
    pod, colon, path = text.partition(":")
    if not colon or not pod or text.startswith((".", "/", "~")) or pod.count("/") > 1:
        return None
    namespace, slash, name = pod.rpartition("/")
    if not path or not name or (slash and not namespace):
        raise click.UsageError(f"{text!r} is neither a local path nor one in a pod; {_EXPECTED}")
    return _Remote(namespace, name, path)


class _Progress:
    """Shows how much was copied: in one line on a terminal, nothing in a pipe."""

    def __init__(self) -> None:
        self._columns = columns_of(sys.stderr)
        self._due = 0.0
        self._shown = False

    def show(self, copied: Copied) -> None:
        """Show it, but not too often."""
        now = time.monotonic()
        if not self._columns or now < self._due:
            return
        self._due, self._shown = now + _EVERY, True
        line = f"{copied.files} files, {_size(copied.bytes)}  {copied.name}"
        sys.stderr.write(f"\r{line[: self._columns - 1]}\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} B"
