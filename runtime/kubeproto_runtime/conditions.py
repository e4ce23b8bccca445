"""Conditions to wait for: they describe what an object still lacks, and can be combined.

::

    await pods.wait_for("web-0", ready())
    await jobs.wait_for("import", job_complete() | condition("Suspended"), timeout=600)
    await books.wait_for("moby-dick", deleted(book.metadata.uid))
    await books.wait_for("moby-dick", lambda book: book.spec.pages > 500)

A condition reads an object as JSON, so that it fits each depth of typing. Your own function gets the
object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, overload

from kubeproto import KubeObject, encode
from kubeproto.objects import JsonPath

from ._documents import plain
from ._rollouts import ConditionUnreachable, rollout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Condition",
    "Presence",
    "at_path",
    "condition",
    "deleted",
    "established",
    "exists",
    "job_complete",
    "predicate",
    "ready",
    "rolled_out",
]

K = TypeVar("K", bound=KubeObject)
K_contra = TypeVar("K_contra", bound=KubeObject, contravariant=True)

_Missing: TypeAlias = "Callable[[Any], str]"


class Condition(Generic[K_contra]):
    """Something that holds or not for an object, or for its absence.

    `missing` describes what is still missing; empty if the condition holds. It raises `ConditionUnreachable`
    if it never will.
    """

    only_if_there: ClassVar[bool] = False

    def __init__(self, name: str, missing: Callable[[K_contra | None], str]) -> None:
        self.name = name
        self.missing = missing

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @overload
    def __and__(self, other: Presence[K_contra]) -> Presence[K_contra]: ...
    @overload
    def __and__(self, other: Condition[K_contra]) -> Condition[K_contra]: ...

    def __and__(self, other: Condition[K_contra]) -> Condition[K_contra]:
        name, missing = f"({self.name} and {other.name})", _both(self.missing, other.missing)
        return Presence[K_contra](name, missing) if other.only_if_there else Condition(name, missing)

    def __or__(self, other: Condition[K_contra]) -> Condition[K_contra]:
        name, missing = f"({self.name} or {other.name})", _either(self.missing, other.missing)
        both = self.only_if_there and other.only_if_there
        return Presence[K_contra](name, missing) if both else Condition(name, missing)

    def __invert__(self) -> Condition[K_contra]:
        return Condition(f"not {self.name}", _not(self.name, self.missing))


class Presence(Condition[K_contra]):
    """A condition that can only hold for an existing object."""

    only_if_there: ClassVar[bool] = True

    def __and__(self, other: Condition[K_contra]) -> Presence[K_contra]:
        return Presence(f"({self.name} and {other.name})", _both(self.missing, other.missing))

    @overload
    def __or__(self, other: Presence[K_contra]) -> Presence[K_contra]: ...
    @overload
    def __or__(self, other: Condition[K_contra]) -> Condition[K_contra]: ...

    def __or__(self, other: Condition[K_contra]) -> Condition[K_contra]:
        return super().__or__(other)


def _both(first: _Missing, second: _Missing) -> _Missing:
    def missing(obj: Any) -> str:
        return " and ".join(words for words in (first(obj), second(obj)) if words)

    return missing


def _either(first: _Missing, second: _Missing) -> _Missing:
    """A side that can never hold does not matter while the other one can."""

    def missing(obj: Any) -> str:
        told: list[str] = []
        lost: list[ConditionUnreachable] = []
        for one in (first, second):
            try:
                words = one(obj)
            except ConditionUnreachable as error:
                lost.append(error)
                continue
            if not words:
                return ""
            told.append(words)
        if not told:
            raise lost[0]
        return " and ".join(told)

    return missing


def _not(name: str, positive: _Missing) -> _Missing:
    def missing(obj: Any) -> str:
        try:
            return "" if positive(obj) else f"it is still {name}"
        except ConditionUnreachable:
            return ""

    return missing


# The conditions


def exists() -> Presence[KubeObject]:
    """The object exists."""
    return Presence("there", lambda obj: "it does not exist" if obj is None else "")


def deleted(uid: str = "") -> Condition[KubeObject]:
    """The object does not exist; with a uid, that object: another one of the same name does not matter."""

    def missing(obj: KubeObject | None) -> str:
        if obj is None or (uid and obj.metadata.uid != uid):
            return ""
        if obj.metadata.deletion_timestamp is None:
            return "it exists, and nobody has deleted it"
        if obj.metadata.finalizers:
            return f"it is being deleted, and held by {', '.join(obj.metadata.finalizers)}"
        return "it is being deleted"

    return Condition("deleted", missing)


def condition(type: str, status: str = "True") -> Presence[KubeObject]:  # noqa: A002 # the API's word
    """A condition in the object's status has this status, and was written for this generation.

    As for kubectl, upper and lower case do not matter.
    """

    def missing(obj: Mapping[str, Any]) -> str:
        found = _find(obj, type)
        if found is None:
            return f"there is no condition {type}"
        seen, wanted = found.get("observedGeneration"), obj["metadata"].get("generation")
        if seen is not None and wanted is not None and seen < wanted:
            return f"the condition {type} is of generation {seen}, before {wanted}"
        return "" if str(found.get("status")).lower() == status.lower() else _explain(found)

    return _on_json(type if status == "True" else f"{type}={status}", missing)


def at_path(path: str | JsonPath, value: str | None = None) -> Presence[KubeObject]:
    """There is a value at a JSONPath, such as ``.status.phase``; with `value`, this one.

    As for kubectl, a number or a truth value is compared as JSON writes it.
    """
    parsed = JsonPath.parse(path) if isinstance(path, str) else path
    name = parsed.text if value is None else f"{parsed.text}={value}"

    def missing(obj: Mapping[str, Any]) -> str:
        found = [one if isinstance(one, str) else encode(one).decode() for one in parsed.find(obj)]
        if not found:
            return f"there is nothing at {parsed.text}"
        if value is None or value in found:
            return ""
        return f"{parsed.text} is {', '.join(found)}"

    return _on_json(name, missing)


def ready() -> Presence[KubeObject]:
    """Its condition Ready is True."""
    return condition("Ready")


def established() -> Presence[KubeObject]:
    """A definition of custom resources is accepted and served."""

    def missing(obj: Mapping[str, Any]) -> str:
        names = _find(obj, "NamesAccepted")
        if names is not None and names.get("status") == "False":
            # It may still become true when the owner of the name is deleted, but somebody has to learn of it.
            raise ConditionUnreachable(f"the names are not accepted: {_explain(names)}")
        found = _find(obj, "Established")
        if found is None:
            return "there is no condition Established"
        return "" if found.get("status") == "True" else _explain(found)

    return _on_json("established", missing)


def rolled_out() -> Presence[KubeObject]:
    """A Deployment, StatefulSet or DaemonSet is rolled out, as ``kubectl rollout status`` defines it."""
    return _on_json("rolled out", rollout)


def job_complete() -> Presence[KubeObject]:
    """A Job has completed; `ConditionUnreachable` when it has failed."""

    def missing(obj: Mapping[str, Any]) -> str:
        failed = _find(obj, "Failed")
        if failed is not None and failed.get("status") == "True":
            raise ConditionUnreachable(f"the job has failed: {_explain(failed)}")
        found = _find(obj, "Complete")
        if found is not None and found.get("status") == "True":
            return ""
        status: Mapping[str, Any] = obj.get("status") or {}
        return f"{status.get('succeeded', 0)} have succeeded, {status.get('active', 0)} are active"

    return _on_json("complete", missing)


def predicate(holds: Callable[[K], bool], name: str = "") -> Presence[K]:
    """A custom condition: a function that is called with each state of the object."""
    told = name or getattr(holds, "__name__", "").replace("<lambda>", "") or "as it should be"

    def missing(obj: K | None) -> str:
        if obj is None:
            return "it does not exist"
        return "" if holds(obj) else f"it is not {told}"

    return Presence(told, missing)


def _on_json(name: str, missing: Callable[[Mapping[str, Any]], str]) -> Presence[KubeObject]:
    def of_object(obj: KubeObject | None) -> str:
        return "it does not exist" if obj is None else missing(plain(obj))

    return Presence(name, of_object)


def _find(obj: Mapping[str, Any], of_type: str) -> Mapping[str, Any] | None:
    status: Mapping[str, Any] = obj.get("status") or {}
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return next((one for one in conditions if str(one.get("type")).lower() == of_type.lower()), None)


def _explain(found: Mapping[str, Any]) -> str:
    words = " ".join(part for part in (found.get("reason"), found.get("message")) if part)
    said = f"{found.get('type')} is {found.get('status')}"
    return f"{said} ({words})" if words else said
