"""A run of a container: its log and its files."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

from ..storage._json_values import objects_in
from ._container_logs import LogBuffer, OutputStream

Json = dict[str, Any]


class ContainerHost(Protocol):
    """The node of a container: its clock, its timers, and the end of the container."""

    @property
    def now(self) -> float:
        """The virtual time."""
        ...

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call an action after some time."""
        ...

    def exit_container(self, container: RunningContainer, code: int) -> None:
        """End a container."""
        ...


class RunningContainer:
    """A run of a container, as its program sees it.

    `files` are its files by their absolute path, `log` writes to its log. The object is discarded when the
    container ends; a restarted container begins with the files of its program.
    """

    def __init__(self, host: ContainerHost, pod: Json, spec: Json) -> None:
        self.namespace: str = pod["metadata"]["namespace"]
        self.pod: str = pod["metadata"]["name"]
        self.node: str = pod["spec"].get("nodeName", "")
        self.name: str = spec["name"]
        self.image: str = spec.get("image", "")
        self.spec = spec
        self.env: dict[str, str] = {
            variable["name"]: variable.get("value", "")
            for variable in objects_in(spec, "env")
            if "valueFrom" not in variable
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
        """Call an action after some time."""
        self._host.later(seconds, action)

    def copy(self, host: ContainerHost) -> RunningContainer:
        """Return the same container on the node of a forked cluster."""
        clone = copy(self)
        clone.files, clone.output, clone._host = dict(self.files), self.output.copy(), host
        return clone

    def exit(self, code: int = 0) -> None:
        """End the container."""
        self._host.exit_container(self, code)
