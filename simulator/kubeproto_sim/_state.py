"""`ServerState`: the storage, kinds, clock, randomness and modes that all parts of a server share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from ._clocks import TimeZones, VirtualClock, only_utc
from ._seeded_random import SeededRandom
from .kinds._kind_registry import KindRegistry
from .kinds._kubernetes_releases import Release
from .storage._storage import ResourceStorage, Storage, StoredEvent, StoredRecord

if TYPE_CHECKING:
    from .kinds._served_kinds import ServedKind

ObjectAddress: TypeAlias = tuple[str, str]
"""The name of a resource, and the key of an object in its storage."""
_Extension = TypeVar("_Extension")


class Modes(Struct, frozen=True, kw_only=True):
    """Differences of the server from the default, a Kubernetes of its release with its watch cache.

    - `streaming_lists`: turns the feature gate WatchList on or off; by default as in the release.
    - `end_mark`: the annotation at the end of the initial events, which some aggregated servers never send.
    - `gone`: how the server reports an expired watch: in the stream, or as HTTP 410 with one of two reasons.
    - `too_large`: how three generations of servers report a version that they have not reached.
    - `compress_watches`: watches are sent with gzip, as Kubernetes 1.37 does.
    - `old_bookmarks`: bookmarks have `"creationTimestamp":null` in their metadata, as older servers send.
    """

    streaming_lists: bool | None = None
    watch_cache: bool = True
    bookmarks: bool = True
    end_mark: Literal["true", "missing", "false", "without-version"] = "true"
    gone: Literal["in-stream", "http-expired", "http-gone"] = "in-stream"
    too_large: Literal["reason", "cause-message", "message"] = "reason"
    compress_watches: bool = False
    old_bookmarks: bool = False


class ClusterExtension(Protocol):
    """A part that was added to the cluster, such as its nodes. It follows changes and acts over time."""

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Handle a change."""
        ...

    def work(self) -> bool:
        """Do the pending work; return whether there was any."""
        ...

    @property
    def next_due(self) -> float | None:
        """The next time at which something happens without a change; None if there is none."""
        ...

    def fork(self, state: ServerState) -> ClusterExtension:
        """Return the same part of a forked cluster, and enter it there."""
        ...

    def resume(self) -> None:
        """Start again after a restart; afterwards `on_event` reports all stored objects."""
        ...


class NodeExtension(ClusterExtension, Protocol):
    """The nodes of a cluster, as controllers know them."""

    def simulates(self, node: str) -> bool:
        """Return whether a node is simulated, so that its kubelet decides when its pods end."""
        ...


class ServerState:
    """The state of a simulated cluster. It stores and deletes objects, and notifies its followers."""

    def __init__(self, *, seed: int, window: int, modes: Modes, release: Release) -> None:
        self.storage = Storage(window)
        self.release = release
        self.kinds = KindRegistry(self.storage, release)
        self.clock = VirtualClock()
        self.rng = SeededRandom(seed)
        # The key that signs the tokens of service accounts.
        self.signing_key = hashlib.sha256(b"kubeproto_sim %d" % seed).digest()
        self.modes = modes
        self.tracks = True  # whether writes are recorded in managedFields
        self.time_zone: TimeZones = only_utc
        self.lag = 0  # the number of versions by which the watch cache lags
        self.terminating: set[str] = set()  # namespaces that accept no new objects
        self.closing: set[str] = set()  # custom resources whose definition is being deleted
        self.extensions: list[ClusterExtension] = []
        self.nodes: NodeExtension | None = None  # also one of the extensions
        self.quotas: dict[str, set[str]] = {}  # the keys of the quotas of each namespace
        self.on_event: list[Callable[[ResourceStorage, StoredEvent], None]] = []
        self.on_generation: Callable[[ResourceStorage], None] = _ignore

    def extension(self, type_: type[_Extension]) -> _Extension | None:
        """Return the extension of a type; None if the cluster has none."""
        return next((part for part in self.extensions if isinstance(part, type_)), None)

    def find(self, address: ObjectAddress) -> tuple[ServedKind, StoredRecord] | None:
        """Return the kind and the object at an address; None if either is missing."""
        served = self.kinds.of_storage(address[0])
        stored = served.storage.objects.get(address[1]) if served else None
        return (served, stored) if served and stored else None

    @property
    def streaming_lists(self) -> bool:
        """Whether a watch may begin with the existing objects."""
        mode = self.modes.streaming_lists
        return self.release.streaming_lists if mode is None else mode

    @property
    def reached(self) -> int:
        """The version that reads from the watch cache see: the latest version minus the lag."""
        # Never 0: no server has this version, and a watch from version 0 means a watch from any version.
        return max(self.storage.version - self.lag, 1)

    def end_watches(self, storage: ResourceStorage) -> None:
        """End all watches of a resource after a change of its schema or the deletion of its definition."""
        storage.generation += 1
        self.on_generation(storage)

    def commit(self, storage: ResourceStorage, stored: StoredRecord) -> StoredEvent:
        """Store an object that has the next version, and notify the followers in `on_event`."""
        event = self.storage.commit(storage, stored)
        for notify in self.on_event:
            notify(storage, event)
        return event

    def remove(self, storage: ResourceStorage, stored: StoredRecord) -> StoredEvent:
        """Delete an object, and notify the followers in `on_event`."""
        event = self.storage.remove(storage, stored)
        for notify in self.on_event:
            notify(storage, event)
        return event


def _ignore(_: ResourceStorage) -> None:
    pass
