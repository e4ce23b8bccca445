"""What controllers read and write: objects decoded once for each version, and writes like any client's.

A write passes the rules of its kind, admission and quota, and is recorded in managedFields. Nothing here
lists a whole kind: a controller that needs to find objects keeps an index that follows changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..._rejections import Rejection
from ..._state import ServerState
from ...reading._routes import Route
from ...storage._storage import Stored
from ...writing._deletes import DeleteOptions, Preconditions, delete
from ...writing._gates import OPEN, Gate
from ...writing._writes import Writer

Json = dict[str, Any]
# Returns the gate of a write, for its user and route.
Gates = Callable[[str, Route], Gate]
MANAGER: Final = "kube-controller-manager"
_decode: Final = msgspec.json.Decoder().decode


def open_gates(user: str, route: Route) -> Gate:
    """Let every write pass."""
    return OPEN


class Objects:
    """Reads and writes what is stored, for the controllers of one cluster."""

    def __init__(self, state: ServerState, gates: Gates = open_gates) -> None:
        self.state = state
        self._gates = gates
        self._decoded: dict[tuple[str, str], tuple[int, Json]] = {}

    @property
    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self.state.clock.time

    @property
    def stamp(self) -> str:
        """The time as objects carry it."""
        return self.state.clock.stamp()

    def stored(self, resource: str, key: str) -> Stored | None:
        """Return an object as its bytes; None if it does not exist."""
        return self.state.storage.resource(resource).objects.get(key)

    def get(self, resource: str, key: str) -> Json | None:
        """Return an object, which must not be changed; None if it does not exist."""
        stored = self.stored(resource, key)
        if stored is None:
            return None
        place = (resource, key)
        known = self._decoded.get(place)
        if known is not None and known[0] == stored.version:
            return known[1]
        obj: Json = _decode(stored.data)
        self._decoded[place] = (stored.version, obj)
        return obj

    def forget(self, resource: str, key: str) -> None:
        """Forget an object that was deleted."""
        self._decoded.pop((resource, key), None)

    def create(self, resource: str, obj: Json, user: str) -> Json:
        """Create an object, and return it as it is stored; or `Rejection`."""
        served = self.state.kinds.of_storage(resource)
        assert served is not None  # controllers write kinds of the server's own
        route = Route(served, "create", obj["metadata"].get("namespace", ""))
        writer = Writer(self.state, route, {}, MANAGER, gate=self._gates(user, route))
        made: Json = _decode(writer.create(obj, []).data)
        return made

    def update(
        self, resource: str, key: str, change: Callable[[Json], object], user: str, subresource: str = ""
    ) -> Json:
        """Change an object, and return it as it is stored; or `Rejection`, KeyError if it is gone.

        Nothing is written if nothing has changed.
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
        found = self.get(resource, key)
        if found is not None and found.get("status") != status:
            self.update(resource, key, lambda obj: obj.update(status=status), user, "status")

    def delete(self, resource: str, key: str, user: str, *, uid: str | None = None, policy: str = "") -> bool:
        """Delete an object, or begin to; return whether it existed."""
        served = self.state.kinds.of_storage(resource)
        assert served is not None  # as above
        stored = served.storage.objects.get(key)
        if stored is None or (uid is not None and stored.uid != uid):
            return False
        route = Route(served, "delete", stored.namespace, stored.name)
        expected = None if uid is None else Preconditions(uid=uid)
        options = DeleteOptions(propagation_policy=policy or None, preconditions=expected)
        delete(self.state, served, key, stored.name, options, self._gates(user, route))
        return True


def reason_of(refused: Rejection) -> str:
    """Return the reason of a refusal, as its Status names it."""
    reason: str = refused.status.get("reason", "")
    return reason


def message_of(refused: Rejection) -> str:
    """Return the message of a refusal."""
    message: str = refused.status.get("message", "")
    return message
