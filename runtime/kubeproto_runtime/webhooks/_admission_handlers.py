"""`Admission`: the typed request of an admission webhook, and the response of its handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from kubeproto import InvalidObject, KubeObject, to_plain
from kubeproto.crd import (
    AdmissionRequest,
    AdmissionVerdict,
    Violation,
    deny,
    invalid_status,
    respond_to_admission,
)
from kubeproto.objects import decode, is_object

from .._documents import add_server_metadata, dump_class_fields
from .._edits import Original
from ..writing._shapes import shape_of

if TYPE_CHECKING:
    from kubeproto.crd import UserInfo

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")

# The status code of an API server for an invalid object.
_INVALID: Final = 422


class Admission(Generic[K]):
    """A write that the API server is about to perform.

    `object` is the object to store; for a deletion, the object to delete. `old` is the stored object, and
    None for a creation. `request` contains all fields of the admission request.
    """

    def __init__(self, request: AdmissionRequest, obj: K, old: K | None) -> None:
        self.request = request
        self.object = obj
        self.old = old
        self.warnings: list[str] = []
        self.audit_annotations: dict[str, str] = {}

    def __repr__(self) -> str:
        request = self.request
        key = f"{request.namespace}/{request.name}".strip("/")
        return f"<{request.operation} of {request.kind.kind} {key or 'without a name yet'}>"

    @property
    def operation(self) -> str:
        """CREATE, UPDATE or DELETE."""
        return self.request.operation

    @property
    def user(self) -> UserInfo:
        """The user who made the request."""
        return self.request.user_info

    @property
    def dry_run(self) -> bool:
        """Whether the server will not store the object. Then a handler must not have side effects."""
        return self.request.dry_run

    def warn(self, text: str) -> None:
        """Add a warning for the client that sent the request, whether it is allowed or not."""
        self.warnings.append(text)

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation to the server's audit log."""
        self.audit_annotations[key] = value


Validation: TypeAlias = AdmissionVerdict | Violation | Sequence[Violation] | None
Validator: TypeAlias = Callable[[Admission[K]], Validation | Awaitable[Validation]]
Defaulter: TypeAlias = Callable[[Admission[K]], K | Awaitable[K | None] | None]


async def validate_request(
    request: AdmissionRequest, kind: type[K], validators: Sequence[tuple[Validator[K], tuple[str, ...]]]
) -> bytes:
    """Call the validators of an operation until one refuses, and return the response."""
    admission = read_objects(request, kind)
    if isinstance(admission, AdmissionVerdict):
        return respond_to_admission(request, admission)
    for validate, operations in validators:
        if request.operation in operations:
            verdict = verdict_of(await resolve(validate(admission)), admission, kind)
            if not verdict.allowed:
                return _respond(admission, verdict)
            admission.warnings += verdict.warnings
            admission.audit_annotations |= verdict.audit_annotations
    return _respond(admission, AdmissionVerdict(allowed=True))


async def default_request(
    request: AdmissionRequest, kind: type[K], defaulters: Sequence[tuple[Defaulter[K], tuple[str, ...]]]
) -> bytes:
    """Call the defaulters of an operation in turn; the response contains their changes as a JSON patch."""
    admission = read_objects(request, kind)
    if isinstance(admission, AdmissionVerdict):
        return respond_to_admission(request, admission)
    text = request.object
    if text is None:
        return _respond(admission, AdmissionVerdict(allowed=True))
    original = Original(admission.object, text, dump_class_fields(admission.object, kind))
    for set_defaults, operations in defaulters:
        if request.operation in operations and (edited := await resolve(set_defaults(admission))) is not None:
            admission.object = edited
    shape = shape_of(kind, kind.resource)
    merged: dict[str, Any] = original.merge(
        admission.object, dump_class_fields(admission.object, kind), shape
    )
    return _respond(admission, AdmissionVerdict(allowed=True, changed=add_server_metadata(merged, text)))


def read_objects(request: AdmissionRequest, kind: type[K]) -> Admission[K] | AdmissionVerdict:
    """Decode the objects of a request. Return a verdict with 422 if the object does not fit the class."""
    old = None if request.old_object is None else _decode(request.old_object, kind)
    if request.object is None:
        if old is None:
            return deny(f"this webhook does not support {request.operation}, which has no object", code=400)
        # An object that does not fit the class may be deleted: otherwise no client could remove it.
        return Admission(request, old, old) if not isinstance(old, str) else _allowed()
    new = _decode(request.object, kind)
    if isinstance(new, str):
        if _is_being_deleted(request):
            return _allowed()  # otherwise its finalizers could not be removed
        return deny(
            f"{kind.resource.kind} {request.name!r} does not fit {kind.__name__}: {new}", code=_INVALID
        )
    # An update may repair a stored object that does not fit the class.
    return Admission(request, new, None if isinstance(old, str) else old)


def _is_being_deleted(request: AdmissionRequest) -> bool:
    old = (request.old_object or {}).get("metadata")
    return is_object(old) and bool(old.get("deletionTimestamp"))


def verdict_of(result: Validation, admission: Admission[K], kind: type[K]) -> AdmissionVerdict:
    """Return the verdict of a validator: None allows the write, violations refuse it with 422 and causes."""
    match result:
        case AdmissionVerdict():
            return result
        case None:
            return _allowed()
        case Violation():
            violations: Sequence[Violation] = (result,)
        case _:
            violations = result
            if not violations:
                return _allowed()
    name = admission.request.name or admission.object.metadata.generate_name
    status = invalid_status(kind.resource, name, violations)
    causes = tuple(violation.cause() for violation in violations)
    return AdmissionVerdict(allowed=False, code=_INVALID, message=status.message, causes=causes)


async def resolve(result: T | Awaitable[T]) -> T:
    """Return the result of a handler, which may be a function or a coroutine function."""
    value: Any = result
    resolved: T = await value if isawaitable(value) else value
    return resolved


def _respond(admission: Admission[Any], verdict: AdmissionVerdict) -> bytes:
    warnings = (*admission.warnings, *verdict.warnings)
    annotations = admission.audit_annotations | verdict.audit_annotations
    verdict = msgspec.structs.replace(verdict, warnings=warnings, audit_annotations=annotations)
    return respond_to_admission(admission.request, verdict)


def _decode(document: dict[str, Any], kind: type[K]) -> K | str:
    try:
        return to_plain(decode(msgspec.json.encode(document), kind))
    except InvalidObject as error:
        return str(error)


def _allowed() -> AdmissionVerdict:
    return AdmissionVerdict(allowed=True)
