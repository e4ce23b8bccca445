"""The client of the controllers: it decodes each version of an object once, and writes as any client does.

A write passes the rules of its kind, admission and quota, and is recorded in managedFields. The client lists
no kind: a controller that searches for objects has an index that follows the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..._rejections import Rejection
from ..._state import ServerState
from ...reading._routes import Route
from ...storage._storage import StoredRecord
from ...writing._object_deletion import DeleteOptions, Preconditions, delete
from ...writing._object_writer import Writer
from ...writing._write_gates import OPEN, Gate

Json = dict[str, Any]
Gates = Callable[[str, Route], Gate]
"""Returns the gate that a write passes, for the user and the route of the write."""
MANAGER: Final = "kube-controller-manager"
_decode: Final = msgspec.json.Decoder().decode


def open_gates(user: str, route: Route) -> Gate:
    """Return the gate that admits every write."""
    return OPEN


class ObjectClient:
    """Reads and writes stored objects for the controllers of a cluster."""

    def __init__(self, state: ServerState, gates: Gates = open_gates) -> None:
        self.state = state
        self._gates = gates
        self._decoded: dict[tuple[str, str], tuple[int, Json]] = {}

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.state.clock.time

    @property
    def stamp(self) -> str:
        """The current time in the format of a timestamp in metadata."""
        return self.state.clock.stamp()

    def stored(self, resource: str, key: str) -> StoredRecord | None:
        """Return an object with its encoded data; None if it does not exist."""
        return self.state.storage.resource(resource).objects.get(key)

    def get(self, resource: str, key: str) -> Json | None:
        """Return an object, which must not be changed; None if it does not exist."""
        stored = self.stored(resource, key)
        if stored is None:
            return None
        cached = self._decoded.get((resource, key))
        if cached is not None and cached[0] == stored.version:
            return cached[1]
        obj: Json = _decode(stored.data)
        self._decoded[resource, key] = (stored.version, obj)
        return obj

    def forget(self, resource: str, key: str) -> None:
        """Drop the cached copy of a deleted object."""
        self._decoded.pop((resource, key), None)

    def create(self, resource: str, obj: Json, user: str) -> Json:
        """Create an object and return its stored form; raise `Rejection` if the server refuses."""
        served = self.state.kinds.of_storage(resource)
        assert served is not None  # controllers write kinds of the server's own
        route = Route(served, "create", obj["metadata"].get("namespace", ""))
        writer = Writer(self.state, route, {}, MANAGER, gate=self._gates(user, route))
        created: Json = _decode(writer.create(obj, []).data)
        return created

    def update(
        self, resource: str, key: str, change: Callable[[Json], object], user: str, subresource: str = ""
    ) -> Json:
        """Change an object and return its stored form.

        Raise `Rejection` if the server refuses, KeyError if the object does not exist.

        An unchanged object is not written.
        """
        served = self.state.kinds.of_storage(resource)
        assert served is not None  # as above
        stored = served.storage.objects[key]
        obj: Json = _decode(stored.data)
        change(obj)
        route = Route(served, "update", stored.namespace, stored.name, subresource)
        writer = Writer(self.state, route, {}, MANAGER, gate=self._gates(user, route))
        written: Json = _decode(writer.replace(obj, []).data)
        return written

    def set_status(self, resource: str, key: str, status: Json, user: str) -> None:
        """Write the status of an object, if the object exists and the status differs."""
        current = self.get(resource, key)
        if current is not None and current.get("status") != status:
            self.update(resource, key, lambda obj: obj.update(status=status), user, "status")

    def delete(self, resource: str, key: str, user: str, *, uid: str | None = None, policy: str = "") -> bool:
        """Delete an object, or mark it for deletion; return whether it existed."""
        served = self.state.kinds.of_storage(resource)
        assert served is not None  # as above
        stored = served.storage.objects.get(key)
        if stored is None or (uid is not None and stored.uid != uid):
            return False
        route = Route(served, "delete", stored.namespace, stored.name)
        preconditions = None if uid is None else Preconditions(uid=uid)
        options = DeleteOptions(propagation_policy=policy or None, preconditions=preconditions)
        delete(self.state, served, key, stored.name, options, self._gates(user, route))
        return True


def reason_of(rejection: Rejection) -> str:
    """Return the reason in the Status of a rejection."""
    reason: str = rejection.status.get("reason", "")
    return reason


def message_of(rejection: Rejection) -> str:
    """Return the message in the Status of a rejection."""
    message: str = rejection.status.get("message", "")
    return message
