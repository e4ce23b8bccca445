"""Conditions to wait for. They explain why an object does not meet them yet, and combine by `&`, `|`, `~`.

::

    await pods.wait_for("web-0", ready())
    await jobs.wait_for("import", job_complete() | condition("Suspended"), timeout=600)
    await books.wait_for("moby-dick", deleted(book.metadata.uid))
    await books.wait_for("moby-dick", lambda book: book.spec.pages > 500)

The conditions of this module read an object as JSON, so they apply to typed and to untyped objects. A
function of your own gets the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, overload

from kubeproto import KubeObject, encode
from kubeproto.objects import JsonPath

from ._documents import to_builtins
from ._rollouts import ConditionUnreachable, missing_of_rollout

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
    """A condition of an object, or of its absence.

    `missing` returns the reason why the condition does not hold, and an empty string if it holds. It raises
    `ConditionUnreachable` if the condition can never hold.
    """

    requires_object: ClassVar[bool] = False

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
        return Presence[K_contra](name, missing) if other.requires_object else Condition(name, missing)

    def __or__(self, other: Condition[K_contra]) -> Condition[K_contra]:
        name, missing = f"({self.name} or {other.name})", _either(self.missing, other.missing)
        requires_object = self.requires_object and other.requires_object
        return Presence[K_contra](name, missing) if requires_object else Condition(name, missing)

    def __invert__(self) -> Condition[K_contra]:
        return Condition(f"not {self.name}", _not(self.name, self.missing))


class Presence(Condition[K_contra]):
    """A condition that can only hold for an existing object."""

    requires_object: ClassVar[bool] = True

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
        return " and ".join(reason for reason in (first(obj), second(obj)) if reason)

    return missing


def _either(first: _Missing, second: _Missing) -> _Missing:
    """Combine two conditions, of which an unreachable condition is ignored while the other can hold."""

    def missing(obj: Any) -> str:
        reasons: list[str] = []
        errors: list[ConditionUnreachable] = []
        for missing_of_side in (first, second):
            try:
                reason = missing_of_side(obj)
            except ConditionUnreachable as error:
                errors.append(error)
                continue
            if not reason:
                return ""
            reasons.append(reason)
        if not reasons:
            raise errors[0]
        return " and ".join(reasons)

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
    """Return the condition that the object exists."""
    return Presence("existing", lambda obj: "it does not exist" if obj is None else "")


def deleted(uid: str = "") -> Condition[KubeObject]:
    """Return the condition that the object does not exist.

    With a uid, a later object of the same name meets the condition too.
    """

    def missing(obj: KubeObject | None) -> str:
        if obj is None or (uid and obj.metadata.uid != uid):
            return ""
        if obj.metadata.deletion_timestamp is None:
            return "it exists, and its deletion was not requested"
        if obj.metadata.finalizers:
            return f"it is being deleted, and waits for the finalizers {', '.join(obj.metadata.finalizers)}"
        return "it is being deleted"

    return Condition("deleted", missing)


def condition(type: str, status: str = "True") -> Presence[KubeObject]:  # noqa: A002 # the API's word
    """Return the condition that `status.conditions` has this type and status, for the current generation.

    Upper and lower case do not matter, as in kubectl.
    """

    def missing(obj: Mapping[str, Any]) -> str:
        current = _find_condition(obj, type)
        if current is None:
            return f"there is no condition {type}"
        observed, generation = current.get("observedGeneration"), obj["metadata"].get("generation")
        if observed is not None and generation is not None and observed < generation:
            return f"the condition {type} is of generation {observed}, and the object of {generation}"
        return "" if str(current.get("status")).lower() == status.lower() else _describe(current)

    return _on_json(type if status == "True" else f"{type}={status}", missing)


def at_path(path: str | JsonPath, value: str | None = None) -> Presence[KubeObject]:
    """Return the condition that a JSONPath such as ``.status.phase`` has a value; with `value`, this value.

    A number or a boolean is compared with its JSON, as in kubectl.
    """
    json_path = JsonPath.parse(path) if isinstance(path, str) else path
    name = json_path.text if value is None else f"{json_path.text}={value}"

    def missing(obj: Mapping[str, Any]) -> str:
        values = [
            match if isinstance(match, str) else encode(match).decode() for match in json_path.find(obj)
        ]
        if not values:
            return f"there is no value at {json_path.text}"
        if value is None or value in values:
            return ""
        return f"{json_path.text} is {', '.join(values)}"

    return _on_json(name, missing)


def ready() -> Presence[KubeObject]:
    """Return the condition that ``status.conditions`` has Ready with the status True."""
    return condition("Ready")


def established() -> Presence[KubeObject]:
    """Return the condition that a CustomResourceDefinition is accepted and served."""

    def missing(obj: Mapping[str, Any]) -> str:
        names_accepted = _find_condition(obj, "NamesAccepted")
        if names_accepted is not None and names_accepted.get("status") == "False":
            # It may become true when the other definition with these names is deleted, but nobody would do
            # that without an error.
            raise ConditionUnreachable(f"the names are not accepted: {_describe(names_accepted)}")
        current = _find_condition(obj, "Established")
        if current is None:
            return "there is no condition Established"
        return "" if current.get("status") == "True" else _describe(current)

    return _on_json("established", missing)


def rolled_out() -> Presence[KubeObject]:
    """Return the condition that a Deployment, StatefulSet or DaemonSet is rolled out.

    A rollout is complete when ``kubectl rollout status`` reports success.
    """
    return _on_json("rolled out", missing_of_rollout)


def job_complete() -> Presence[KubeObject]:
    """Return the condition that a Job has completed.

    It raises `ConditionUnreachable` if the Job has failed.
    """

    def missing(obj: Mapping[str, Any]) -> str:
        failed = _find_condition(obj, "Failed")
        if failed is not None and failed.get("status") == "True":
            raise ConditionUnreachable(f"the job has failed: {_describe(failed)}")
        complete = _find_condition(obj, "Complete")
        if complete is not None and complete.get("status") == "True":
            return ""
        status: Mapping[str, Any] = obj.get("status") or {}
        return f"{status.get('succeeded', 0)} pods have succeeded, {status.get('active', 0)} are active"

    return _on_json("complete", missing)


def predicate(holds: Callable[[K], bool], name: str = "") -> Presence[K]:
    """Return the condition that a function returns True; it is called with each state of the object."""
    state_name = name or getattr(holds, "__name__", "").replace("<lambda>", "") or "in the desired state"

    def missing(obj: K | None) -> str:
        if obj is None:
            return "it does not exist"
        return "" if holds(obj) else f"it is not {state_name}"

    return Presence(state_name, missing)


def _on_json(name: str, missing: Callable[[Mapping[str, Any]], str]) -> Presence[KubeObject]:
    def of_object(obj: KubeObject | None) -> str:
        return "it does not exist" if obj is None else missing(to_builtins(obj))

    return Presence(name, of_object)


def _find_condition(obj: Mapping[str, Any], type_name: str) -> Mapping[str, Any] | None:
    status: Mapping[str, Any] = obj.get("status") or {}
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    for status_condition in conditions:
        if str(status_condition.get("type")).lower() == type_name.lower():
            return status_condition
    return None


def _describe(status_condition: Mapping[str, Any]) -> str:
    type_and_status = f"{status_condition.get('type')} is {status_condition.get('status')}"
    details = " ".join(
        detail for detail in (status_condition.get("reason"), status_condition.get("message")) if detail
    )
    return f"{type_and_status} ({details})" if details else type_and_status
