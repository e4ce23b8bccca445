"""Deletion of an object: immediately, after a grace period, or after its finalizers; and the deletion
options."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.crd import Violation

from .._rejections import bad_request, conflict, forbidden, invalid_options, not_found, unsupported_media
from .._state import ServerState
from ..kinds._protobuf_bodies import PROTOBUF
from ..kinds._served_kinds import ServedKind
from ..reading._query import Query, number
from ..storage._storage import StoredRecord
from ._request_bodies import read_message, read_value, read_yaml
from ._server_writes import put, remove
from ._write_gates import OPEN, Gate

Policy = Literal["", "Orphan", "Background", "Foreground"]

_POLICIES: Final = ("", "Orphan", "Background", "Foreground")
_FOREGROUND: Final = "foregroundDeletion"
_ORPHAN: Final = "orphan"
# Kinds whose dependents stay by default, as before the garbage collector existed.
ORPHANING: Final = ("jobs.batch", "replicationcontrollers")
_PROTECTED_NAMESPACES: Final = ("default", "kube-system", "kube-public")


class Preconditions(Struct, frozen=True, rename="camel"):
    """The uid and the version that a deletion expects."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The options of a deletion."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


class DeletionResult(Struct, frozen=True):
    """The outcome: the object if it still exists or its kind responds with it, else None."""

    data: bytes | None
    is_removed: bool
    uid: str = ""


def read_delete_options(query: Query, body: bytes, content_type: str) -> DeleteOptions:
    """Return the options in the body, or in the query if there is no body.

    Raise `Rejection` for invalid options.
    """
    if body:
        media = content_type.partition(";")[0].strip()
        if media == PROTOBUF:
            value: Any = read_message(body, "DeleteOptions")
        elif media not in ("", "application/json", "application/yaml"):
            raise unsupported_media()
        else:
            value = read_value(body) if media != "application/yaml" else read_yaml(body)[0]
        try:
            options = msgspec.convert(value, DeleteOptions)
        except msgspec.ValidationError as error:
            raise bad_request(f'DeleteOptions in version "v1" cannot be handled: {error}') from None
    else:
        orphan = query.get("orphanDependents")
        options = DeleteOptions(
            grace_period_seconds=number(query, "gracePeriodSeconds"),
            propagation_policy=query.get("propagationPolicy"),
            orphan_dependents=None if orphan is None else orphan.lower() not in ("0", "false"),
            dry_run=[query["dryRun"]] if query.get("dryRun") else None,
        )
    violations: list[Violation] = []
    policy = options.propagation_policy or ""
    if policy not in _POLICIES:
        supported = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        violations.append(Violation("FieldValueNotSupported", "propagationPolicy", policy, supported))
    if options.orphan_dependents is not None and policy:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        violations.append(Violation("FieldValueInvalid", "propagationPolicy", policy, detail))
    if options.dry_run not in (None, [], ["All"]):
        violations.append(
            Violation("FieldValueNotSupported", "dryRun", options.dry_run, 'supported values: "All"')
        )
    if violations:
        raise invalid_options("DeleteOptions", violations)
    return options


def delete(
    state: ServerState, served: ServedKind, key: str, name: str, options: DeleteOptions, gate: Gate = OPEN
) -> DeletionResult:
    """Delete an object, or mark it for deletion; raise `Rejection` if the deletion is refused."""
    old = served.storage.objects.get(key)
    if old is None:
        raise not_found(served.plural, served.group, name)
    _check_preconditions(served, old, options.preconditions)
    if served.full_name == "namespaces" and name in _PROTECTED_NAMESPACES:
        raise forbidden(served.plural, served.group, name, "this namespace may not be deleted")
    obj: dict[str, Any] = msgspec.json.decode(old.data)
    meta: dict[str, Any] = obj["metadata"]
    is_dry_run = bool(options.dry_run)
    finalizers = _finalizers(served, meta.get("finalizers") or [], options)
    grace = _grace_period(served, obj, options)
    admitted_options = _admitted_options(options)
    if served.full_name == "pods":
        admitted_options["gracePeriodSeconds"] = grace
        if not finalizers and not grace:
            gate.delete(
                served.read(old.data), admitted_options
            )  # marked and removed in two steps, each admitted separately
    if gate is not OPEN:
        gate.delete(served.read(old.data), admitted_options)
    if served.full_name == "namespaces":
        return _close_namespace(state, served, old, obj, is_dry_run=is_dry_run)
    if meta.get("deletionTimestamp") and not _has_effect(meta, grace, finalizers):
        return DeletionResult(old.data, is_removed=False)
    if not finalizers and not grace:
        return _remove_now(state, served, old, obj, is_dry_run=is_dry_run)
    if not meta.get("deletionTimestamp") and meta.get("generation"):
        meta["generation"] += 1
    meta["deletionTimestamp"] = state.clock.stamp(grace)
    meta["deletionGracePeriodSeconds"] = grace
    if finalizers:
        meta["finalizers"] = finalizers
    if is_dry_run:
        return DeletionResult(served.encode_unconverted(obj), is_removed=False)
    return DeletionResult(put(state, served, key, obj).data, is_removed=False)


def _admitted_options(options: DeleteOptions) -> dict[str, Any]:
    """Return the options of a deletion as webhooks receive them."""
    fields: dict[str, Any] = msgspec.to_builtins(options)
    return {name: value for name, value in fields.items() if value is not None}


def _remove_now(
    state: ServerState, served: ServedKind, old: StoredRecord, obj: dict[str, Any], *, is_dry_run: bool
) -> DeletionResult:
    """Remove an object now. A pod is marked first, which takes one more version."""
    data = old.data
    if served.full_name == "pods" and not is_dry_run:
        meta = obj["metadata"]
        if not meta.get("deletionTimestamp") and meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = state.clock.stamp(), 0
        old = put(state, served, old.key, obj)
        data = old.data
    if not is_dry_run:
        remove(state, served, old)
    return DeletionResult(data if served.responds_with_object else None, is_removed=True, uid=old.uid)


def _close_namespace(
    state: ServerState, served: ServedKind, old: StoredRecord, obj: dict[str, Any], *, is_dry_run: bool
) -> DeletionResult:
    """Mark a namespace for deletion; a controller deletes its content, and then the namespace."""
    if obj["metadata"].get("deletionTimestamp"):
        return DeletionResult(old.data, is_removed=False)
    obj["metadata"]["deletionTimestamp"] = state.clock.stamp()
    obj.setdefault("status", {})["phase"] = "Terminating"
    if is_dry_run:
        return DeletionResult(served.encode_unconverted(obj), is_removed=False)
    return DeletionResult(put(state, served, old.key, obj).data, is_removed=False)


def _check_preconditions(served: ServedKind, old: StoredRecord, preconditions: Preconditions | None) -> None:
    if preconditions is None:
        return
    if preconditions.uid is not None and preconditions.uid != old.uid:
        message = (
            f"the UID in the precondition ({preconditions.uid}) does not match the UID in record ({old.uid})."
            " The object might have been deleted and then recreated"
        )
        raise conflict(served.kind, served.group, old.name, message)
    if preconditions.resource_version is not None and preconditions.resource_version != str(old.version):
        message = (
            f"the ResourceVersion in the precondition ({preconditions.resource_version}) does not match the"
            f" ResourceVersion in record ({old.version}). The object might have been modified"
        )
        raise conflict(served.kind, served.group, old.name, message)


def _finalizers(served: ServedKind, present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers of the propagation policy, and those of others."""
    policy = options.propagation_policy or ""
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if not policy and served.full_name in ORPHANING and not {_FOREGROUND, _ORPHAN} & set(present):
        policy = "Orphan"
    if not policy:
        return present
    others = [name for name in present if name not in (_FOREGROUND, _ORPHAN)]
    added = {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
    return others + added


def _grace_period(served: ServedKind, obj: dict[str, Any], options: DeleteOptions) -> int:
    """Return the grace period of an object: 0 except for a pod on a node."""
    if served.full_name != "pods":
        return 0
    seconds = options.grace_period_seconds
    if seconds is None:
        seconds = obj["spec"].get("terminationGracePeriodSeconds", 30)
    if not obj["spec"].get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return 1 if seconds < 0 else int(seconds)


def _has_effect(meta: dict[str, Any], grace: int, finalizers: list[str]) -> bool:
    """Return whether a second deletion has an effect: a shorter grace period, or other finalizers."""
    remaining = meta.get("deletionGracePeriodSeconds") or 0
    if finalizers != (meta.get("finalizers") or []):
        return True
    return grace < remaining


__all__ = ["DeleteOptions", "DeletionResult", "delete", "read_delete_options"]
