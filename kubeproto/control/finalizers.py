"""What a finalizer requires of its controller in each state of an object, and the patches for that.

::

    finalizer   deleting   decide
       no          no      AddFirst    its patch, and nothing else: the change that it makes calls again
       yes         no      Reconcile
       yes         yes     CleanUp     clean up, and when that has gone well, its patch
       no          yes     Nothing     others hold the object, or it is deleted

- Nothing is created for an object before it has the finalizer: it could be left behind otherwise.
- A patch tests what its decision was made from: the uid, and the place in the list. So two finalizers never
  undo each other, and a new object of the same name never loses its own.
- A test that fails is a 422, a race in the storage a 409: read the object again and `decide_again`. A server
  uses 422 for other faults too: if the present object needs the same patch, no test had failed, and the
  result is `Failed`.
- 404 is success: an object that was deleted needs no finalizer.
- A patch whose response was lost counts as `Failed`: the object shows at the next call whether it took
  effect.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ..objects import JsonPatch, KubeObject, check_finalizer
from ..wire import Conflicted, Outcome, Refused, Rejected

__all__ = [
    "AddFirst",
    "CleanUp",
    "Decision",
    "Failed",
    "Nothing",
    "PatchResult",
    "Patched",
    "ReadAgain",
    "Reconcile",
    "decide",
    "decide_again",
    "judge",
]


class AddFirst(Struct, frozen=True):
    """Add the finalizer by `patch`, and wait for the change. `present` are those in the list."""

    finalizer: str
    present: tuple[str, ...]
    uid: str

    @property
    def patch(self) -> JsonPatch:
        """Return the operations, which fail if another finalizer was added or removed."""
        if not self.present:
            # If there is no list, a server lets a test for null pass.
            return [
                *_same(self.uid),
                {"op": "test", "path": "/metadata/finalizers", "value": None},
                {"op": "add", "path": "/metadata/finalizers", "value": [self.finalizer]},
            ]
        return [
            *_same(self.uid),
            {"op": "test", "path": "/metadata/finalizers", "value": list(self.present)},
            {"op": "add", "path": "/metadata/finalizers/-", "value": self.finalizer},
        ]


class Reconcile(Struct, frozen=True):
    """The finalizer is in place: reconcile the object."""


class CleanUp(Struct, frozen=True):
    """The object is being deleted: clean up, then remove the finalizer by `patch`."""

    finalizer: str
    index: int
    uid: str

    @property
    def patch(self) -> JsonPatch:
        """Return the operations, which fail if another finalizer is at that place."""
        path = f"/metadata/finalizers/{self.index}"
        return [
            *_same(self.uid),
            {"op": "test", "path": path, "value": self.finalizer},
            {"op": "remove", "path": path},
        ]


class Nothing(Struct, frozen=True):
    """There is nothing to do until something changes."""


Decision: TypeAlias = AddFirst | Reconcile | CleanUp | Nothing


class Patched(Struct, frozen=True):
    """The patch has done its work, or the object is deleted."""


class ReadAgain(Struct, frozen=True):
    """Another client changed the object: read it from the server, not from a cache, and `decide_again`."""


class Failed(Struct, frozen=True):
    """The patch failed; the caller reports the error and retries."""

    outcome: Outcome


PatchResult: TypeAlias = Patched | ReadAgain | Failed


def decide(obj: KubeObject, finalizer: str) -> Decision:
    """Return what this finalizer requires now; ValueError for a name that no finalizer can have."""
    check_finalizer(finalizer)
    present, uid = obj.metadata.finalizers, obj.metadata.uid
    match finalizer in present, obj.metadata.deletion_timestamp is not None:
        case False, False:
            return AddFirst(finalizer, tuple(present), uid)
        case True, False:
            return Reconcile()
        case True, True:
            return CleanUp(finalizer, present.index(finalizer), uid)
        case _:
            return Nothing()


def judge(failure: Outcome | None) -> PatchResult:
    """Return what the response to a patch means; None is success."""
    match failure:
        case None | Refused(code=404):
            return Patched()
        case Conflicted() | Rejected(code=422):
            return ReadAgain()
        case _:
            return Failed(failure)


def decide_again(before: AddFirst | CleanUp, failure: Outcome, fresh: KubeObject | None) -> Decision | Failed:
    """Decide after `ReadAgain`; `fresh` is the object as the server has it, None if it is deleted.

    Another `CleanUp` after a `CleanUp` needs only its patch: the work has been done.
    """
    if fresh is None or fresh.metadata.uid != before.uid:
        return Nothing()  # another object of the same name
    decision = decide(fresh, before.finalizer)
    return Failed(failure) if decision == before else decision


def _same(uid: str) -> JsonPatch:
    return [{"op": "test", "path": "/metadata/uid", "value": uid}] if uid else []
