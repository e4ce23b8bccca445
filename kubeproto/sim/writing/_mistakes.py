"""What is wrong with a write before any rule: another object, another kind, no version."""

from __future__ import annotations

from typing import Any

import msgspec

from ...crd import Violation
from .._refusals import Rejection, bad_request, unexplained
from ..kinds._kinds import Served
from ..kinds._typed import Misfit
from ..reading._lists import invalid_version
from ..storage._values import go_kind


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
