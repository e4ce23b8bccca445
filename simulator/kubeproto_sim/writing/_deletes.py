"""Deleting: at once, after a grace period, or when finalizers allow it; and what happens to dependents."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.crd import Violation

from .._rejections import bad_request, conflict, forbidden, invalid_options, not_found, unsupported_media
from .._state import ServerState
from ..kinds._kinds import Served
from ..kinds._protobuf import PROTOBUF
from ..reading._query import Query, number
from ..storage._storage import Stored
from ._bodies import read_message, read_value, read_yaml
from ._edits import put, remove
from ._gates import OPEN, Gate

Policy = Literal["", "Orphan", "Background", "Foreground"]

_POLICIES: Final = ("", "Orphan", "Background", "Foreground")
_FOREGROUND: Final = "foregroundDeletion"
_ORPHAN: Final = "orphan"
# Kinds whose dependents stay by default, as they did before the garbage collector existed.
ORPHANING: Final = ("jobs.batch", "replicationcontrollers")
_KEPT_NAMESPACES: Final = ("default", "kube-system", "kube-public")


class Preconditions(Struct, frozen=True, rename="camel"):
    """What a deletion expects of the object."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """How something is deleted."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


class DeletionResult(Struct, frozen=True):
    """The outcome: the object if it still exists or its kind responds with it, else None."""

    data: bytes | None
    gone: bool
    uid: str = ""


def read_delete_options(query: Query, body: bytes, content_type: str) -> DeleteOptions:
    """Return the options in the body, or in the query if there is none; or a refusal."""
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
    found: list[Violation] = []
    policy = options.propagation_policy or ""
    if policy not in _POLICIES:
        allowed = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        found.append(Violation("FieldValueNotSupported", "propagationPolicy", policy, allowed))
    if options.orphan_dependents is not None and policy:
        text = "orphanDependents and deletionPropagation cannot be both set"
        found.append(Violation("FieldValueInvalid", "propagationPolicy", policy, text))
    if options.dry_run not in (None, [], ["All"]):
        found.append(
            Violation("FieldValueNotSupported", "dryRun", options.dry_run, 'supported values: "All"')
        )
    if found:
        raise invalid_options("DeleteOptions", found)
    return options


def delete(
    state: ServerState, served: Served, key: str, name: str, options: DeleteOptions, gate: Gate = OPEN
) -> DeletionResult:
    """Delete one object, or begin to."""
    old = served.storage.objects.get(key)
    if old is None:
        raise not_found(served.plural, served.group, name)
    _check_preconditions(served, old, options.preconditions)
    if served.full_name == "namespaces" and name in _KEPT_NAMESPACES:
        raise forbidden(served.plural, served.group, name, "this namespace may not be deleted")
    obj: dict[str, Any] = msgspec.json.decode(old.data)
    meta: dict[str, Any] = obj["metadata"]
    dry = bool(options.dry_run)
    finalizers = _finalizers(served, meta.get("finalizers") or [], options)
    grace = _grace(served, obj, options)
    shown = _shown(options)
    if served.full_name == "pods":
        shown["gracePeriodSeconds"] = grace
        if not finalizers and not grace:
            gate.delete(
                served.read(old.data), shown
            )  # marked and removed in two steps, each admitted separately
    if gate is not OPEN:
        gate.delete(served.read(old.data), shown)
    if served.full_name == "namespaces":
        return _close_namespace(state, served, old, obj, dry=dry)
    if meta.get("deletionTimestamp") and not _shortens(meta, grace, finalizers):
        return DeletionResult(old.data, gone=False)
    if not finalizers and not grace:
        return _gone(state, served, old, obj, dry=dry)
    if not meta.get("deletionTimestamp") and meta.get("generation"):
        meta["generation"] += 1
    meta["deletionTimestamp"] = state.clock.stamp(grace)
    meta["deletionGracePeriodSeconds"] = grace
    if finalizers:
        meta["finalizers"] = finalizers
    if dry:
        return DeletionResult(served.again(obj), gone=False)
    return DeletionResult(put(state, served, key, obj).data, gone=False)


def _shown(options: DeleteOptions) -> dict[str, Any]:
    """Return the options of a deletion as a webhook sees them."""
    shown: dict[str, Any] = msgspec.to_builtins(options)
    return {name: value for name, value in shown.items() if value is not None}


def _gone(
    state: ServerState, served: Served, old: Stored, obj: dict[str, Any], *, dry: bool
) -> DeletionResult:
    """Remove an object now. A pod is marked first, which takes one more version."""
    data = old.data
    if served.full_name == "pods" and not dry:
        meta = obj["metadata"]
        if not meta.get("deletionTimestamp") and meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = state.clock.stamp(), 0
        old = put(state, served, old.key, obj)
        data = old.data
    if not dry:
        remove(state, served, old)
    return DeletionResult(data if served.answers_with_object else None, gone=True, uid=old.uid)


def _close_namespace(
    state: ServerState, served: Served, old: Stored, obj: dict[str, Any], *, dry: bool
) -> DeletionResult:
    """Mark a namespace for deletion; a controller deletes its content, and then the namespace."""
    if obj["metadata"].get("deletionTimestamp"):
        return DeletionResult(old.data, gone=False)
    obj["metadata"]["deletionTimestamp"] = state.clock.stamp()
    obj.setdefault("status", {})["phase"] = "Terminating"
    if dry:
        return DeletionResult(served.again(obj), gone=False)
    return DeletionResult(put(state, served, old.key, obj).data, gone=False)


def _check_preconditions(served: Served, old: Stored, asked: Preconditions | None) -> None:
    if asked is None:
        return
    if asked.uid is not None and asked.uid != old.uid:
        why = (
            f"the UID in the precondition ({asked.uid}) does not match the UID in record ({old.uid})."
            " The object might have been deleted and then recreated"
        )
        raise conflict(served.kind, served.group, old.name, why)
    if asked.resource_version is not None and asked.resource_version != str(old.version):
        why = (
            f"the ResourceVersion in the precondition ({asked.resource_version}) does not match the"
            f" ResourceVersion in record ({old.version}). The object might have been modified"
        )
        raise conflict(served.kind, served.group, old.name, why)


def _finalizers(served: Served, present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers that the policy asks for, and those of others."""
    policy = options.propagation_policy or ""
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if not policy and served.full_name in ORPHANING and not {_FOREGROUND, _ORPHAN} & set(present):
        policy = "Orphan"
    if not policy:
        return present
    others = [one for one in present if one not in (_FOREGROUND, _ORPHAN)]
    wanted = {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
    return others + wanted


def _grace(served: Served, obj: dict[str, Any], options: DeleteOptions) -> int:
    """Return the grace period of the object: only pods on a node have one."""
    if served.full_name != "pods":
        return 0
    asked = options.grace_period_seconds
    if asked is None:
        asked = obj["spec"].get("terminationGracePeriodSeconds", 30)
    if not obj["spec"].get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return 1 if asked < 0 else int(asked)


def _shortens(meta: dict[str, Any], grace: int, finalizers: list[str]) -> bool:
    """Return whether a second delete changes anything: a shorter grace period, or other finalizers."""
    left = meta.get("deletionGracePeriodSeconds") or 0
    if finalizers != (meta.get("finalizers") or []):
        return True
    return grace < left


__all__ = ["DeleteOptions", "DeletionResult", "delete", "read_delete_options"]
