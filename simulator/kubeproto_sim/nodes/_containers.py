"""What runs in a container: its log, and its files, for as long as it runs."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from ..storage._json_values import listed

Json = dict[str, Any]
OutputStream: TypeAlias = Literal["stdout", "stderr"]


class LogEntry(Struct, frozen=True, gc=False):
    """A line that was written; one without its end continues in the next entry of its stream."""

    at: float
    stream: OutputStream
    text: bytes


class LogBuffer:
    """The log of one run of a container. Each reader that follows it has a callback in `followers`."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.closed = False
        self.followers: list[Callable[[], None]] = []

    def write(self, at: float, data: bytes, stream: OutputStream) -> None:
        """Add what was written, line by line."""
        self.entries += [LogEntry(at, stream, line) for line in data.splitlines(keepends=True)]
        self._notify()

    def close(self) -> None:
        """Nothing more will be written."""
        self.closed = True
        self._notify()

    def copy(self) -> LogBuffer:
        """The same log, which nobody follows."""
        twin = LogBuffer()
        twin.entries, twin.closed = list(self.entries), self.closed
        return twin

    def _notify(self) -> None:
        for notify in list(self.followers):
            notify()


class ContainerHost(Protocol):
    """What a container needs from its node."""

    @property
    def now(self) -> float:
        """The virtual time."""
        ...

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something when so much time has passed."""
        ...

    def exit_container(self, container: RunningContainer, code: int) -> None:
        """End a container."""
        ...


class RunningContainer:
    """One run of a container: what a program sees of where it runs.

    `files` are its files by their absolute path, `log` writes to its log. It is gone when the container ends;
    one that is started again begins with the files of its program.
    """

    def __init__(self, host: ContainerHost, pod: Json, spec: Json) -> None:
        self.namespace: str = pod["metadata"]["namespace"]
        self.pod: str = pod["metadata"]["name"]
        self.node: str = pod["spec"].get("nodeName", "")
        self.name: str = spec["name"]
        self.image: str = spec.get("image", "")
        self.spec = spec
        self.env: dict[str, str] = {
            one["name"]: one.get("value", "") for one in listed(spec, "env") if "valueFrom" not in one
        }
        self.files: dict[str, bytes] = {}
        self.output = LogBuffer()
        self._host = host

    def __repr__(self) -> str:
        return f"<container {self.name} of pod {self.namespace}/{self.pod}>"

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        return self._host.now

    def log(self, text: str | bytes, *, stream: OutputStream = "stdout") -> None:
        """Write to the log."""
        self.output.write(self.now, text.encode() if isinstance(text, str) else text, stream)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something when so much time has passed."""
        self._host.later(seconds, action)

    def copy(self, host: ContainerHost) -> RunningContainer:
        """The same container on the node of a forked cluster."""
        twin = copy(self)
        twin.files, twin.output, twin._host = dict(self.files), self.output.copy(), host
        return twin

    def exit(self, code: int = 0) -> None:
        """End the container."""
        self._host.exit_container(self, code)
