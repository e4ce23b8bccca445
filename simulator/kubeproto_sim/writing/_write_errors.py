"""Errors of a write before any rule of its kind: another name, another kind, an invalid version."""

from __future__ import annotations

from typing import Any

import msgspec

from kubeproto.crd import Violation

from .._rejections import Rejection, bad_request, unexplained
from ..kinds._kind_registry import KindRegistry
from ..kinds._served_kinds import ServedKind
from ..kinds._typed_codec import TypeMismatch
from ..reading._list_requests import invalid_version
from ..storage._json_values import go_kind, quoted


def immutable_violations(previous: dict[str, Any], meta: dict[str, Any]) -> list[Violation]:
    """Return the violations by changes of immutable metadata."""
    return [
        Violation("FieldValueInvalid", f"metadata.{field}", meta[field], "field is immutable")
        for field in ("uid", "deletionTimestamp")
        if meta.get(field) not in (None, "", previous.get(field))
    ]


def kind_violations(served: ServedKind, kind: str, api_version: str) -> list[Violation]:
    """Return the violations of the kind and apiVersion of a custom resource."""
    violations: list[Violation] = []
    if kind != served.kind:
        violations.append(Violation("FieldValueInvalid", "kind", kind, f"must be {served.kind}"))
    if api_version != served.api_version:
        violations.append(
            Violation("FieldValueInvalid", "apiVersion", api_version, f"must be {served.api_version}")
        )
    return violations


def invalid_metadata(served: ServedKind, value: Any) -> TypeMismatch:
    """Return the error for metadata that is not an object."""
    go_target = "value" if served.custom else f"struct field {served.kind}.metadata"
    return TypeMismatch(f"json: cannot unmarshal {go_kind(value)} into Go {go_target} of type v1.ObjectMeta")


def kind_mismatch(kinds: KindRegistry | None, expected: tuple[str, str], kind: str, api_version: str) -> str:
    """Return the message about an object whose kind is not the expected built-in kind; empty if equal.

    Without `kinds`, the server has no other kind that it could name.
    """
    expected_kind, expected_version = expected
    kind, api_version = kind or expected_kind, api_version or expected_version
    if (kind, api_version) == expected:
        return ""
    other = None if kinds is None else kinds.of_kind(api_version, kind)
    if other is None or other.custom:
        scheme = quoted("pkg/runtime/scheme.go:111")
        return f"no kind {quoted(kind)} is registered for version {quoted(api_version)} in scheme {scheme}"
    package = expected_version.rpartition("/")[0].partition(".")[0] or "core"
    return f"converting ({other.version}.{kind}) to ({package}.{expected_kind}): unknown conversion"


def relative_to_status(violation: Violation) -> Violation:
    """Return a violation of a status in the form of its subresource: relative to the status."""
    if violation.field != "status" and not violation.field.startswith("status."):
        return violation
    relative_path = violation.field.removeprefix("status").removeprefix(".")
    detail = violation.detail.replace(f"{violation.field} in body", f"{relative_path} in body", 1)
    return msgspec.structs.replace(violation, detail=detail)


def name_mismatch(body: str, url: str) -> Rejection:
    """Return the 400 for a body whose name differs from that in the URL."""
    return bad_request(f"the name of the object ({body}) does not match the name on the URL ({url})")


def invalid_version_number(text: str) -> Rejection:
    """Return the 500 for a version that is not a number."""
    return unexplained(invalid_version(text).partition(": ")[2].partition(": ")[2])


def uid_mismatch(served: ServedKind, key: str, uid: str, stored: str, *, dry_run: bool = False) -> str:
    """Return the message about an object that cannot be replaced because its uid differs."""
    root = "" if dry_run else "/registry"
    path = f"{served.group}/{served.plural}" if served.custom else served.plural
    return (
        f"StorageError: invalid object, Code: 4, Key: {root}/{path}/{key}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
    )
