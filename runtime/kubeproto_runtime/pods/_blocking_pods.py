"""The functions for pods in programs without an event loop: a thread runs an event loop for them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from anyio.from_thread import start_blocking_portal

from kubeproto import Dynamic

from ..client._connect import ConnectOptions, connect
from ._copying import copy_from, copy_to
from ._forwarding import PortForwarder, forward_ports
from ._merged_logs import MergedLogs, ReadLogsOptions, read_logs
from ._pod_choice import PODS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Sequence

    from anyio.from_thread import BlockingPortal

    from kubeproto.config import Config
    from kubeproto.streams import CommandEvent, Exited, Process

    from ..client._client import Client
    from ..client._verbs import BoundApi
    from ._container_log import LogLine
    from ._extracting import CopyResult
    from ._forwarding import ForwardingError
    from ._port_pairs import PortLike


@contextmanager
def connect_pods_blocking(
    *, config: Config | None = None, **options: Unpack[ConnectOptions]
) -> Generator[BlockingPods]:
    """Connect like `connect`, and provide the functions of this package without an event loop.

    ::

        with connect_pods_blocking() as pods, pods.forward_ports("svc/shop", [":80"]) as forwarded:
            urlopen(f"http://127.0.0.1:{forwarded.ports[0].local}")

    Commands, files and ports need a connection that sends and receives at the same time, which blocking
    transports do not support. An event loop in a thread uses the transport of asyncio instead.
    """
    with start_blocking_portal() as portal:
        connection: Any = connect(config=config, **options)
        with portal.wrap_async_context_manager(connection) as client:
            yield BlockingPods(portal, client)


class BlockingPods:
    """Commands, logs, copies and ports of pods, for threads; several threads may share it.

    The methods are the functions with the same names; `exec` and `attach` are the verbs of `BoundApi`.
    """

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    @contextmanager
    def exec(
        self,
        pod: str,
        command: Sequence[str],
        *,
        container: str = "",
        namespace: str = "",
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool | None = None,
        tty: bool = False,
    ) -> Generator[BlockingProcess]:
        """Run a command in a container. With a terminal, its stderr arrives as stdout."""
        process = self._api(namespace).exec(
            pod, command, container=container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty
        )
        with self._portal.wrap_async_context_manager(process) as entered:
            yield BlockingProcess(self._portal, entered)

    @contextmanager
    def attach(
        self,
        pod: str,
        *,
        container: str = "",
        namespace: str = "",
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool | None = None,
        tty: bool = False,
    ) -> Generator[BlockingProcess]:
        """Attach to the streams of a running container."""
        process = self._api(namespace).attach(
            pod, container=container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty
        )
        with self._portal.wrap_async_context_manager(process) as entered:
            yield BlockingProcess(self._portal, entered)

    @contextmanager
    def read_logs(self, target: str = "", **options: Unpack[ReadLogsOptions]) -> Generator[Iterator[LogLine]]:
        """Read the logs of pods; see `read_logs`."""
        logs = read_logs(self._client, target, **options)
        with self._portal.wrap_async_context_manager(logs) as lines:
            yield self._lines(lines)

    def copy_from(
        self,
        pod: str,
        source: str,
        target: str | os.PathLike[str],
        *,
        container: str = "",
        namespace: str = "",
        on_progress: Callable[[CopyResult], object] | None = None,
    ) -> CopyResult:
        """Copy a file or folder from a container; see `copy_from`."""
        return self._portal.call(
            partial(
                copy_from, self._client, pod, source, target, container=container, namespace=namespace,
                on_progress=on_progress,
            )
        )  # fmt: skip

    def copy_to(
        self,
        pod: str,
        source: str | os.PathLike[str],
        target: str,
        *,
        container: str = "",
        namespace: str = "",
        on_progress: Callable[[CopyResult], object] | None = None,
    ) -> CopyResult:
        """Copy a local file or folder to a container; see `copy_to`."""
        return self._portal.call(
            partial(
                copy_to, self._client, pod, source, target, container=container, namespace=namespace,
                on_progress=on_progress,
            )
        )  # fmt: skip

    @contextmanager
    def forward_ports(
        self,
        target: str,
        ports: Sequence[PortLike],
        *,
        namespace: str = "",
        selector: str = "",
        host: str = "127.0.0.1",
        within: float = 60.0,
        on_error: Callable[[ForwardingError], object] | None = None,
    ) -> Generator[PortForwarder]:
        """Listen on local ports that lead to a pod; see `forward_ports`."""
        forwarder = forward_ports(
            self._client, target, ports, namespace=namespace, selector=selector, host=host, within=within,
            on_error=on_error,
        )  # fmt: skip
        with self._portal.wrap_async_context_manager(forwarder) as forwarded:
            yield forwarded

    def _api(self, namespace: str) -> BoundApi[Dynamic]:
        return self._client.api(Dynamic, namespace=namespace, resource=PODS)

    def _lines(self, logs: MergedLogs) -> Iterator[LogLine]:
        while (batch := self._portal.call(logs.next_batch)) is not None:
            yield from batch


class BlockingProcess:
    """A command in a container, for threads: a `kubeproto.streams.Process` whose methods block.

    Iterate over its output events and its `Exited` event. Another thread may write to it.
    """

    def __init__(self, portal: BlockingPortal, process: Process) -> None:
        self._portal = portal
        self._process = process

    @property
    def exited(self) -> Exited | None:
        """The `Exited` event of the command; None until it has been read."""
        return self._process.exited

    def write(self, data: bytes) -> None:
        """Write to the command's stdin."""
        self._portal.call(self._process.write, data)

    def end_stdin(self) -> None:
        """Close the command's stdin. Raise `LocalProtocolError` if the server supports only protocol v4."""
        self._portal.call(self._process.end_stdin)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the command's terminal."""
        self._portal.call(self._process.resize, width, height)

    def wait(self) -> Exited:
        """Wait until the command exits, and drop its remaining output."""
        return self._portal.call(self._process.wait)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> CommandEvent:
        event = self._portal.call(self._next)
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> CommandEvent | None:
        async for event in self._process:
            return event
        return None  # a portal does not propagate StopAsyncIteration
