"""`copy_from` and `copy_to`: files out of a container and into one, by a `tar` that runs in it.

Both hold a piece of the archive at a time, whatever its size. Files are read and written by threads.
"""

from __future__ import annotations

import os.path
import posixpath
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio.to_thread import run_sync

from kubeproto import Dynamic, InvalidRequest, KubeprotoError, LocalProtocolError
from kubeproto.streams import Exited, Stderr, Stdout

from ._choosing import PODS
from ._extracting import Copied, CopyError, Extraction
from ._packing import TarPacking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubeproto.streams import Process

    from ..client._client import Client
    from ..client._verbs import BoundApi

_PIECE: Final = 256 * 1024
_MOST_SAID: Final = 4096  # bytes of tar's standard error that are kept
_NOT_THERE: Final = (126, 127)  # what shells and runtimes return for a missing program


async def copy_from(
    client: Client,
    pod: str,
    source: str,
    target: str | os.PathLike[str],
    *,
    container: str = "",
    namespace: str = "",
    on_progress: Callable[[Copied], object] | None = None,
) -> Copied:
    """Copy a file or folder from a container, and return how much was copied.

    A file becomes `target`, or goes into it if that is a folder; what is in a folder goes into `target`, as
    by kubectl. Modes, times and links are kept. Names that lead out of `target` end the copy, and links that
    do are left out: the container may be hostile. Files that exist are replaced.

    The container needs a `tar`. A `CopyError` says what was copied before it failed. `on_progress` is called
    after each piece.
    """
    parent, name = _split(source)
    place = Path(target)
    if place.is_dir() and await _is_file(client, pod, source, container, namespace):
        place /= name
    extraction = Extraction(name, place)
    command = ["tar", "-cf", "-", "-C", parent, f"./{name}" if name.startswith("-") else name]
    said = bytearray()
    try:
        async with _pods(client, namespace).exec(pod, command, container=container) as process:
            ended = await _unpack(process, extraction, said, on_progress)
        _check(ended, said, _about(client, pod, namespace, container), extraction.copied)
        await run_sync(extraction.finish)
    except CopyError:
        raise
    except (KubeprotoError, OSError) as error:
        raise CopyError(str(error), extraction.copied) from error
    finally:
        extraction.close()
    return extraction.copied


async def copy_to(
    client: Client,
    pod: str,
    source: str | os.PathLike[str],
    target: str,
    *,
    container: str = "",
    namespace: str = "",
    on_progress: Callable[[Copied], object] | None = None,
) -> Copied:
    """Copy a local file or folder into a container, and return how much was copied.

    It becomes `target`, or goes into it if that is a folder or ends with a slash. Modes, times and links are
    kept; owners are not. The container needs a `tar`. A `CopyError` says how much had been sent before it
    failed.
    """
    path = Path(source)
    if not os.path.lexists(path):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    parent, name = _split(target)
    own = path.name or Path(os.path.abspath(path)).name
    if target.endswith("/") or await _is_folder(client, pod, target, container, namespace):
        parent, name = target, own
    packing = TarPacking(path, name)
    command = ["tar", "-xmf", "-", "-C", parent]
    said = bytearray()
    failures: list[Exception] = []
    ended: Exited | None = None
    try:
        async with (
            _pods(client, namespace).exec(pod, command, container=container, stdin=True) as process,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_send, process, packing, failures, tasks.cancel_scope, on_progress)
            try:
                ended = await _read(process, said)
            except KubeprotoError as error:
                failures.append(error)
            tasks.cancel_scope.cancel()
    except KubeprotoError as error:
        raise CopyError(str(error), packing.copied) from error
    if ended is not None:
        _check(ended, said, _about(client, pod, namespace, container), packing.copied)
    for failure in failures:
        raise CopyError(str(failure), packing.copied) from failure
    return packing.copied


async def _unpack(
    process: Process,
    extraction: Extraction,
    said: bytearray,
    on_progress: Callable[[Copied], object] | None,
) -> Exited | None:
    data = bytearray()

    async def write() -> None:
        piece = bytes(data)
        data.clear()
        await run_sync(extraction.feed, piece)
        if on_progress is not None:
            on_progress(extraction.copied)

    ended: Exited | None = None
    async for event in process:
        match event:
            case Stdout(piece):
                data += piece
                if len(data) >= _PIECE:
                    await write()
            case Stderr(piece):
                said += piece[: _MOST_SAID - len(said)]
            case Exited():
                ended = event
    if data:
        await write()
    return ended


async def _send(
    process: Process,
    packing: TarPacking,
    failures: list[Exception],
    scope: anyio.CancelScope,
    on_progress: Callable[[Copied], object] | None,
) -> None:
    pieces = packing.pieces()
    try:
        while (piece := await run_sync(_next, pieces)) is not None:
            await process.write(piece)
            if on_progress is not None:
                on_progress(packing.copied)
        # A server before 1.30 cannot end it: tar ends by itself at the end of the archive.
        with suppress(LocalProtocolError):
            await process.end_stdin()
    except OSError as error:  # a file that cannot be read: the archive cannot be completed
        failures.append(error)
        scope.cancel()
    except KubeprotoError:
        pass  # tar has ended, or the connection: the reader learns which


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


async def _read(process: Process, said: bytearray) -> Exited | None:
    ended: Exited | None = None
    async for event in process:
        match event:
            case Stdout(piece) | Stderr(piece):
                said += piece[: _MOST_SAID - len(said)]
            case Exited():
                ended = event
    return ended


def _check(ended: Exited | None, said: bytearray, about: str, copied: Copied) -> None:
    """Raise what went wrong in the container."""
    if ended is None or ended.code == 0:
        return
    text = " ".join(said.decode("utf-8", "replace").split()) or ended.status.message
    missing = "executable file not found" in text or "no such file or directory" in text.lower()
    if ended.code in _NOT_THERE or (ended.code is None and missing):
        raise CopyError(f"{about} has no tar, by which files are copied: {text}", copied)
    raise CopyError(f"tar in {about} ended with {ended.code}: {text}", copied)


async def _is_file(client: Client, pod: str, path: str, container: str, namespace: str) -> bool:
    return await _test(client, pod, "-f", path, container, namespace)


async def _is_folder(client: Client, pod: str, path: str, container: str, namespace: str) -> bool:
    return await _test(client, pod, "-d", path, container, namespace)


async def _test(client: Client, pod: str, what: str, path: str, container: str, namespace: str) -> bool:
    async with _pods(client, namespace).exec(pod, ["test", what, path], container=container) as process:
        return (await process.wait()).code == 0


def _pods(client: Client, namespace: str) -> BoundApi[Dynamic]:
    return client.api(Dynamic, namespace=namespace, resource=PODS)


def _about(client: Client, pod: str, namespace: str, container: str) -> str:
    about = f"Pod {namespace or client.namespace}/{pod}"
    return f"container {container} of {about}" if container else about


def _split(path: str) -> tuple[str, str]:
    """Return the folder and the name of a path in a container."""
    if not path:
        raise InvalidRequest("give the path in the container")
    whole = posixpath.normpath(path)
    if whole in ("/", ".", ".."):
        return whole, "."
    parent, name = posixpath.split(whole)
    return parent or ".", name
