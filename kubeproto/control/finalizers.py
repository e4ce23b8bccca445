"""Decides what a finalizer requires of its controller in each state of an object, and makes the patches.

::

    finalizer   deleting   decide
       no          no      AddFinalizer   its patch only: the resulting watch event triggers the next run
       yes         no      Reconcile
       yes         yes     CleanUp        clean up, and after success its patch
       no          yes     Ignore         other finalizers remain, or it is deleted

- Nothing is created for an object before it has the finalizer: it could be left behind otherwise.
- A patch tests the uid and the list from which its decision was made. So two finalizers never undo each
  other, and a new object of the same name never loses its own.
- A failed test is a 422, a race in the storage a 409: read the object again and `decide_again`. A server uses
  422 for other faults too: if the present object needs the same patch, no test failed, and the result is
  `Failed`.
- 404 is success: a deleted object needs no finalizer.
- A patch whose response was lost counts as `Failed`: at the next call the object shows whether it took
  effect.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ..objects import JsonPatch, KubeObject, check_finalizer
from ..wire import Conflicted, Outcome, Refused, Rejected

__all__ = [
    "AddFinalizer",
    "CleanUp",
    "Decision",
    "Failed",
    "Ignore",
    "PatchResult",
    "Patched",
    "ReadAgain",
    "Reconcile",
    "decide",
    "decide_again",
    "interpret",
]


class AddFinalizer(Struct, frozen=True):
    """Add the finalizer by `patch`, and wait for the change. `present` are the existing finalizers."""

    finalizer: str
    present: tuple[str, ...]
    uid: str

    @property
    def patch(self) -> JsonPatch:
        """Return the operations, which fail if another finalizer was added or removed."""
        if not self.present:
            # A server accepts a test for null if there is no list.
            return [
                *_test_uid(self.uid),
                {"op": "test", "path": "/metadata/finalizers", "value": None},
                {"op": "add", "path": "/metadata/finalizers", "value": [self.finalizer]},
            ]
        return [
            *_test_uid(self.uid),
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
        """Return the operations, which fail if the list has changed at that index."""
        path = f"/metadata/finalizers/{self.index}"
        return [
            *_test_uid(self.uid),
            {"op": "test", "path": path, "value": self.finalizer},
            {"op": "remove", "path": path},
        ]


class Ignore(Struct, frozen=True):
    """Do nothing until something changes."""


Decision: TypeAlias = AddFinalizer | Reconcile | CleanUp | Ignore


class Patched(Struct, frozen=True):
    """The patch has succeeded, or the object is deleted."""


class ReadAgain(Struct, frozen=True):
    """Another client changed the object: read it from the server, not from a cache, and `decide_again`."""


class Failed(Struct, frozen=True):
    """The patch failed; the caller reports the error and retries."""

    outcome: Outcome


PatchResult: TypeAlias = Patched | ReadAgain | Failed


def decide(obj: KubeObject, finalizer: str) -> Decision:
    """Return what this finalizer requires now; raise ValueError for an invalid name of a finalizer."""
    check_finalizer(finalizer)
    present, uid = obj.metadata.finalizers, obj.metadata.uid
    match finalizer in present, obj.metadata.deletion_timestamp is not None:
        case False, False:
            return AddFinalizer(finalizer, tuple(present), uid)
        case True, False:
            return Reconcile()
        case True, True:
            return CleanUp(finalizer, present.index(finalizer), uid)
        case _:
            return Ignore()


def interpret(failure: Outcome | None) -> PatchResult:
    """Interpret the outcome of a patch; None is success."""
    match failure:
        case None | Refused(code=404):
            return Patched()
        case Conflicted() | Rejected(code=422):
            return ReadAgain()
        case _:
            return Failed(failure)


def decide_again(
    previous: AddFinalizer | CleanUp, failure: Outcome, fresh: KubeObject | None
) -> Decision | Failed:
    """Decide after `ReadAgain`. `fresh` is the object as read from the server, None if it is deleted.

    A second `CleanUp` needs only its patch: the controller has cleaned up already.
    """
    if fresh is None or fresh.metadata.uid != previous.uid:
        return Ignore()  # another object of the same name
    decision = decide(fresh, previous.finalizer)
    return Failed(failure) if decision == previous else decision


def _test_uid(uid: str) -> JsonPatch:
    return [{"op": "test", "path": "/metadata/uid", "value": uid}] if uid else []
