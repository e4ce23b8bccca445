"""`copy_from` and `copy_to`: copy files from and to a container, using a `tar` that runs in it.

Only a chunk of the archive is in memory at any time. Threads read and write the files.
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

from ._extracting import CopyError, CopyResult, Extraction, describe_failure
from ._packing import TarPacker
from ._pod_choice import PODS

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from typing import TypeAlias

    from kubeproto.streams import Process

    from ..client._client import Client

    OnProgress: TypeAlias = Callable[[CopyResult], object] | None

_CHUNK_SIZE: Final = 256 * 1024
_MAX_STDERR: Final = 4096  # bytes of tar's messages for an error
_PROGRAM_MISSING: Final = (126, 127)  # the exit codes of shells and runtimes


async def copy_from(
    client: Client,
    pod: str,
    source: str,
    target: str | os.PathLike[str],
    *,
    container: str = "",
    namespace: str = "",
    on_progress: OnProgress = None,
) -> CopyResult:
    """Copy a file or folder from a container, and return how much was copied.

    As with kubectl, a file is written as `target`, or into `target` if that is a folder, and the content of a
    folder is written into `target`. Modes, times and links are preserved. The container may be hostile: a
    name outside of `target` ends the copy, and a link to the outside is skipped. Existing files are replaced.

    The container needs a `tar`. `CopyError.copied` counts the files that were copied before the error.
    `on_progress` is called after each chunk.
    """
    remote = _Container(client, pod, namespace, container)
    parent, name = _split(source)
    path = Path(target)
    # Unlike the method of a path, this is False where the path cannot be read: writing it raises the reason.
    if os.path.isdir(path) and await remote.test("-f", source):
        path /= name
    extraction = Extraction(name, path)
    command = ["tar", "-cf", "-", "-C", parent, f"./{name}" if name.startswith("-") else name]
    try:
        async with remote.exec(command) as process:
            exited, messages = await _extract(process, extraction, on_progress)
        remote.check(exited, messages, extraction.copied)
        await run_sync(extraction.finish)
    except CopyError:
        raise
    except KubeprotoError as error:
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
    on_progress: OnProgress = None,
) -> CopyResult:
    """Copy a local file or folder to a container, and return how much was copied.

    It is written as `target`, or into `target` if that is a folder or ends with a slash. Modes, times and
    links are preserved; owners are not. The container needs a `tar`. `CopyError.copied` counts the files that
    were sent before the error.
    """
    path = Path(source)
    if not os.path.lexists(path):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    remote = _Container(client, pod, namespace, container)
    parent, name = _split(target)
    if target.endswith("/") or await remote.test("-d", target):
        parent, name = target, path.name or Path(os.path.abspath(path)).name
    packing = TarPacker(path, name)
    failures: list[Exception] = []
    exited, messages = None, b""
    try:
        async with (
            remote.exec(["tar", "-xmf", "-", "-C", parent], stdin=True) as process,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_send, process, packing, failures, tasks.cancel_scope, on_progress)
            try:
                exited, messages = await _read_messages(process)
            except KubeprotoError as error:
                failures.append(error)
            tasks.cancel_scope.cancel()
    except KubeprotoError as error:
        raise CopyError(str(error), packing.copied) from error
    remote.check(exited, messages, packing.copied)
    for failure in failures:
        reason = (
            describe_failure(failure, packing.member, "read") if isinstance(failure, OSError) else failure
        )
        raise CopyError(str(reason), packing.copied) from failure
    return packing.copied


class _Container:
    """A container that runs the commands `tar` and `test`."""

    def __init__(self, client: Client, pod: str, namespace: str, container: str) -> None:
        self._api = client.api(Dynamic, namespace=namespace, resource=PODS)
        self._pod = pod
        self._container = container
        self._description = f"Pod {namespace or client.namespace}/{pod}"
        if container:
            self._description = f"container {container} of {self._description}"

    def exec(self, command: list[str], *, stdin: bool = False) -> AbstractAsyncContextManager[Process]:
        return self._api.exec(self._pod, command, container=self._container, stdin=stdin)

    async def test(self, operator: str, path: str) -> bool:
        async with self.exec(["test", operator, path]) as process:
            return (await process.wait()).code == 0

    def check(self, exited: Exited | None, messages: bytes, copied: CopyResult) -> None:
        """Raise `CopyError` if tar has failed."""
        if exited is None or exited.code == 0:
            return
        text = " ".join(messages.decode("utf-8", "replace").split()) or exited.status.message
        missing = "executable file not found" in text or "no such file or directory" in text.lower()
        if exited.code in _PROGRAM_MISSING or (exited.code is None and missing):
            raise CopyError(f"{self._description} has no tar, which copying needs: {text}", copied)
        raise CopyError(f"tar in {self._description} ended with {exited.code}: {text}", copied)


async def _extract(
    process: Process, extraction: Extraction, on_progress: OnProgress
) -> tuple[Exited | None, bytes]:
    """Write the files of the archive from stdout. Return the end of the process, and its stderr."""
    data, messages = bytearray(), bytearray()

    async def write() -> None:
        chunk = bytes(data)
        data.clear()
        await run_sync(extraction.feed, chunk)
        if on_progress is not None:
            on_progress(extraction.copied)

    exited: Exited | None = None
    async for event in process:
        match event:
            case Stdout(chunk):
                data += chunk
                if len(data) >= _CHUNK_SIZE:
                    await write()
            case Stderr(chunk):
                messages += chunk[: _MAX_STDERR - len(messages)]
            case Exited():
                exited = event
    if data:
        await write()
    return exited, bytes(messages)


async def _read_messages(process: Process) -> tuple[Exited | None, bytes]:
    """Return the end of the process, and its output."""
    messages = bytearray()
    exited: Exited | None = None
    async for event in process:
        match event:
            case Stdout(chunk) | Stderr(chunk):
                messages += chunk[: _MAX_STDERR - len(messages)]
            case Exited():
                exited = event
    return exited, bytes(messages)


async def _send(
    process: Process,
    packing: TarPacker,
    failures: list[Exception],
    scope: anyio.CancelScope,
    on_progress: OnProgress,
) -> None:
    chunks = packing.chunks()
    try:
        while (chunk := await run_sync(next, chunks, None)) is not None:
            await process.write(chunk)
            if on_progress is not None:
                on_progress(packing.copied)
        # A server before 1.30 cannot end stdin: tar ends by itself at the end of the archive.
        with suppress(LocalProtocolError):
            await process.end_stdin()
    except OSError as error:  # a file that cannot be read: the archive cannot be completed
        failures.append(error)
        scope.cancel()
    except KubeprotoError:
        pass  # tar or the connection has ended: the reader raises the reason


def _split(path: str) -> tuple[str, str]:
    """Return the folder and the name of a path in a container."""
    if not path:
        raise InvalidRequest("the path in the container is empty")
    normalized = posixpath.normpath(path)
    if normalized in ("/", ".", ".."):
        return normalized, "."
    parent, name = posixpath.split(normalized)
    return parent or ".", name
