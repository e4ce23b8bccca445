"""What is wrong with a write before any rule: another object, another kind, no version."""

from __future__ import annotations

from typing import Any

import msgspec

from kubeproto.crd import Violation

from .._rejections import Rejection, bad_request, quoted, unexplained
from ..kinds._kinds import Kinds, Served
from ..kinds._typed import Misfit
from ..reading._list_requests import invalid_version
from ..storage._json_values import go_kind


def immutable(before: dict[str, Any], meta: dict[str, Any]) -> list[Violation]:
    """Return the immutable parts of the metadata that have changed."""
    return [
        Violation("FieldValueInvalid", f"metadata.{field}", meta[field], "field is immutable")
        for field in ("uid", "deletionTimestamp")
        if meta.get(field) not in (None, "", before.get(field))
    ]


def misnamed(served: Served, kind: str, api_version: str) -> list[Violation]:
    """Return what is wrong with the kind and apiVersion of a custom resource."""
    found: list[Violation] = []
    if kind != served.kind:
        found.append(Violation("FieldValueInvalid", "kind", kind, f"must be {served.kind}"))
    if api_version != served.api_version:
        found.append(
            Violation("FieldValueInvalid", "apiVersion", api_version, f"must be {served.api_version}")
        )
    return found


def no_metadata(served: Served, value: Any) -> Misfit:
    """Return the fault of metadata that is not an object."""
    into = "value" if served.custom else f"struct field {served.kind}.metadata"
    return Misfit(f"json: cannot unmarshal {go_kind(value)} into Go {into} of type v1.ObjectMeta")


def mistyped(kinds: Kinds | None, own: tuple[str, str], kind: str, api_version: str) -> str:
    """Return why an object is not of a built-in kind, by its kind and apiVersion; empty if it is.

    Without `kinds`, the server knows no other one at this place.
    """
    own_kind, own_version = own
    kind, api_version = kind or own_kind, api_version or own_version
    if (kind, api_version) == own:
        return ""
    other = None if kinds is None else kinds.of_kind(api_version, kind)
    if other is None or other.custom:
        scheme = quoted("pkg/runtime/scheme.go:111")
        return f"no kind {quoted(kind)} is registered for version {quoted(api_version)} in scheme {scheme}"
    package = own_version.rpartition("/")[0].partition(".")[0] or "core"
    return f"converting ({other.version}.{kind}) to ({package}.{own_kind}): unknown conversion"


def of_status(violation: Violation) -> Violation:
    """Return a fault of a status as its subresource reports it: from inside the status."""
    if violation.field != "status" and not violation.field.startswith("status."):
        return violation
    inside = violation.field.removeprefix("status").removeprefix(".")
    detail = violation.detail.replace(f"{violation.field} in body", f"{inside} in body", 1)
    return msgspec.structs.replace(violation, detail=detail)


def other_name(body: str, url: str) -> Rejection:
    """400: the body names another object than the URL."""
    return bad_request(f"the name of the object ({body}) does not match the name on the URL ({url})")


def no_version(text: str) -> Rejection:
    """500: a version that is not a number."""
    return unexplained(invalid_version(text).partition(": ")[2].partition(": ")[2])


def other_uid(served: Served, key: str, uid: str, stored: str, *, dry_run: bool = False) -> str:
    """Return why an object with another uid is not replaced."""
    root = "" if dry_run else "/registry"
    path = f"{served.group}/{served.plural}" if served.custom else served.plural
    return (
        f"StorageError: invalid object, Code: 4, Key: {root}/{path}/{key}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
    )
