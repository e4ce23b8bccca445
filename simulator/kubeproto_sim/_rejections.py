"""`Rejection`: the refusals of a server, with its messages.

A refusal is raised anywhere in the simulator, and `Server` turns it into a response. The fields of a Status
are in the order of a server; `details` is missing or empty in the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.wire import reason_of

from .storage._json_values import quoted

Details = dict[str, Any]

_REJECTED: Final = "the server rejected our request due to an error in our request"
_STALE: Final = "the object has been modified; please apply your changes to the latest version and try again"
_OLD_TOKEN: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list"
    " without the continue parameter, or use the continue token in this response to retrieve the remainder of"
    " the results. Continuing with the provided token results in an inconsistent list - objects that were"
    " created, modified, or deleted between the time the first chunk was returned and now may show up in the"
    " list."
)


class Rejection(Exception):
    """A refusal: the request gets this Status after `delay` seconds, and changes nothing."""

    def __init__(self, status: dict[str, Any], *, delay: float = 0.0) -> None:
        super().__init__(status.get("message"))
        self.status = status
        self.delay = delay

    @property
    def code(self) -> int:
        """The HTTP status code."""
        code: int = self.status["code"]
        return code

    @property
    def retry_after(self) -> int:
        """The seconds of the Retry-After header; 0 for none."""
        details: Details = self.status.get("details") or {}
        seconds: int = details.get("retryAfterSeconds", 0)
        return seconds


class InvalidRejection(Rejection):
    """A refusal of an object, or of the options of a request, for violations of rules."""

    def __init__(self, resource_or_kind: str, group: str, name: str, violations: Sequence[Violation]) -> None:
        # A violation that occurs twice is listed once in the message, and twice in the causes.
        lines = list(dict.fromkeys(str(violation) for violation in violations))
        text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
        message = f"{dotted(resource_or_kind, group)} {quoted(name)} is invalid: {text}"
        causes = [cause(violation) for violation in violations]
        super().__init__(failure(422, message, status_details(name, group, resource_or_kind, causes)))
        self._parts = (resource_or_kind, group, name, violations)

    def reworded(self, reword: Callable[[Violation, str], Violation]) -> InvalidRejection:
        """Return the refusal with other texts; `reword` takes a violation and the group of the object."""
        kind, group, name, violations = self._parts
        return InvalidRejection(kind, group, name, [reword(violation, group) for violation in violations])


class PlainRejection(Exception):
    """A refusal by a part of the server that responds in plain text."""

    def __init__(self, code: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.headers = headers


def failure(
    code: int,
    message: str,
    details: Details | None = None,
    *,
    reason: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the Status of a failure; an empty `reason` is omitted."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata or {},
        "status": "Failure",
        "message": message,
    }
    if reason := reason_of(code) if reason is None else reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = details
    return status | {"code": code}


def status_details(name: str = "", group: str = "", kind: str = "", causes: Sequence[Any] = ()) -> Details:
    """Return the details of a Status, which name its object; empty parts are omitted."""
    details: Details = {}
    for key, value in (("name", name), ("group", group), ("kind", kind)):
        if value:
            details[key] = value
    if causes:
        details["causes"] = list(causes)
    return details


def cause(violation: Violation) -> dict[str, Any]:
    """Return a violation as a cause of a Status."""
    return {"reason": violation.reason, "message": violation.message, "field": violation.field}


def dotted(name: str, group: str) -> str:
    """Return a kind or resource with its group, as messages name it."""
    return f"{name}.{group}" if group else name


def bad_request(message: str) -> Rejection:
    """400: the request is malformed."""
    return Rejection(failure(400, message))


def unexplained(message: str, code: int = 500) -> Rejection:
    """500 without a reason, with which a real server reports many mistakes of the caller."""
    return Rejection(failure(code, message, reason=""))


def unknown_path() -> PlainRejection:
    """404: the group, version or path does not exist."""
    return PlainRejection(404, "404 page not found\n", (("X-Content-Type-Options", "nosniff"),))


def unknown_resource() -> Rejection:
    """404: the resource does not exist."""
    return Rejection(failure(404, "the server could not find the requested resource", {}))


def not_found(plural: str, group: str, name: str) -> Rejection:
    """404: the object does not exist."""
    message = f"{dotted(plural, group)} {quoted(name)} not found"
    return Rejection(failure(404, message, status_details(name, group, plural)))


def method_not_allowed() -> Rejection:
    """405: the resource does not support this verb."""
    message = "the server does not allow this method on the requested resource"
    return Rejection(failure(405, message, {}))


def verb_not_supported(plural: str, group: str) -> Rejection:
    """405: a method without a verb, sent to a custom resource."""
    message = f" is not supported on resources of kind {quoted(dotted(plural, group))}"
    return Rejection(failure(405, message, status_details("", group, plural)))


def not_acceptable(offers: str) -> Rejection:
    """406: none of the media types of the Accept header is offered."""
    return Rejection(
        failure(406, f"406: Not Acceptable\n\nAvailable representations: {offers}", {}),
    )


def only_accepted(offers: str, *, verbatim: bool = False) -> Rejection:
    """406, with the message of another part of the server."""
    return Rejection(
        failure(406, offers if verbatim else f"only the following media types are accepted: {offers}")
    )


def unsupported_media(accepted: str = "") -> Rejection:
    """415: bodies of this media type are not accepted. Custom resources list those that are."""
    if not accepted:
        return Rejection(failure(415, "415: Unsupported Media Type", {}))
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return Rejection(failure(415, message))


def too_large(limit: int) -> Rejection:
    """413: the body is larger than a server accepts."""
    return Rejection(failure(413, f"Request entity too large: limit is {limit}", {}))


def exists(plural: str, group: str, name: str, *, deleting: bool) -> Rejection:
    """409: an object of this name exists."""
    message = f"{dotted(plural, group)} {quoted(name)} already exists"
    if deleting:
        message = f"object is being deleted: {message}"
    return Rejection(failure(409, message, status_details(name, group, plural), reason="AlreadyExists"))


def conflict(resource_or_kind: str, group: str, name: str, problem: str = _STALE) -> Rejection:
    """409: the object is not in the expected state. The message names its plural or its kind."""
    message = f"Operation cannot be fulfilled on {dotted(resource_or_kind, group)} {quoted(name)}: {problem}"
    return Rejection(failure(409, message, status_details(name, group, resource_or_kind)))


def invalid(resource_or_kind: str, group: str, name: str, violations: Sequence[Violation]) -> Rejection:
    """422: the object violates rules. The message usually names its kind."""
    return InvalidRejection(resource_or_kind, group, name, violations)


def invalid_options(kind: str, violations: Sequence[Violation]) -> Rejection:
    """422: the options of a request violate rules."""
    return invalid(kind, "meta.k8s.io", "", violations)


def rejected_patch() -> Rejection:
    """422: a JSON patch cannot be applied. A server does not name the operation that failed."""
    return Rejection(failure(422, _REJECTED, {}))


def forbidden(plural: str, group: str, name: str, problem: str, causes: Sequence[Any] = ()) -> Rejection:
    """403: admission denied the write."""
    message = f"{dotted(plural, group)} {quoted(name)} is forbidden: {problem}"
    return Rejection(failure(403, message, status_details(name, group, plural, causes)))


def forbidden_for(resource: str, group: str, name: str, problem: str) -> Rejection:
    """403 about a resource, one of its objects, or, without a resource, about a path."""
    if not resource:
        message = f"forbidden: {problem}"
    elif not name:
        message = f"{dotted(resource, group)} is forbidden: {problem}"
    else:
        message = f"{dotted(resource, group)} {quoted(name)} is forbidden: {problem}"
    return Rejection(failure(403, message, status_details(name, group, resource)))


def initializing() -> Rejection:
    """429: the storage of a new kind is not ready yet."""
    return Rejection(failure(429, "storage is (re)initializing", {"retryAfterSeconds": 1}))


def expired_list() -> Rejection:
    """410: the requested version has been compacted."""
    return Rejection(failure(410, "The resourceVersion for the provided list is too old.", reason="Expired"))


def expired_token(fresh: str) -> Rejection:
    """410: the version of a page has been compacted; the token `fresh` continues with current objects."""
    return Rejection(failure(410, _OLD_TOKEN, reason="Expired", metadata={"continue": fresh}))


def version_too_large(requested: int, current: int, style: str, *, cached: bool) -> Rejection:
    """504: the server has not reached a version. Three generations of servers have three messages."""
    reached = f"Timeout: Too large resource version: {requested}, current: {current}"
    too_large = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    match style:
        case "message":  # before 1.17: only the message
            return Rejection(failure(504, reached, {"retryAfterSeconds": 1}))
        case "cause-message":  # 1.17.0 to 1.18.5: a cause without a reason
            causes = [{"message": "Too large resource version"}]
            return Rejection(failure(504, reached, {"causes": causes, "retryAfterSeconds": 1}))
        case _:
            details: Details = {"causes": [too_large]}
            if cached:
                details["retryAfterSeconds"] = 1
            # A watch cache waits three seconds for the version to arrive.
            return Rejection(failure(504, reached, details), delay=3.0 if cached else 0.0)
