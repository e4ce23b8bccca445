"""Quotas: a write that would use more than the quotas of its namespace allow is refused.

The usage is charged to the status of the quota with the write itself, so that two writes cannot both use what
is left; a controller counts again when an object is deleted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubeproto.objects import Quantity

from .._rejections import Rejection, forbidden
from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._json_values import member
from ..storage._storage import StoredEvent
from ._quota_usage import Json, Usage, in_scope, missing_requests, names_for, usage_of

QUOTAS: Final = "resourcequotas"
_NONE: Final = Quantity(0)


Charges = list[tuple[str, Usage]]


def note_quota(state: ServerState, event: StoredEvent) -> None:
    """Note which quotas a namespace has."""
    keys = state.quotas.setdefault(event.stored.namespace, set())
    if event.change == "DELETED":
        keys.discard(event.stored.key)
    else:
        keys.add(event.stored.key)


def check_quotas(
    state: ServerState, served: Served, obj: Json, old: Json | None, *, namespace: str
) -> Charges:
    """Return the usage of the quotas of a namespace after a write; or `Rejection`."""
    quotas = state.quotas.get(namespace)
    if not quotas or not served.namespaced:
        return []
    resource, now = served.full_name, state.clock.time
    used = usage_of(resource, obj, now)
    before = usage_of(resource, old, now) if old is not None else {}
    charges: Charges = []
    for key in sorted(quotas):
        stored = state.storage.resource(QUOTAS).objects.get(key)
        if stored is None:
            continue
        quota: Json = msgspec.json.decode(stored.data)
        if not in_scope(quota, resource, obj):
            continue
        hard = {name: Quantity(value) for name, value in member(member(quota, "status"), "hard").items()}
        names = names_for(resource, set(hard))
        if not names:
            continue
        delta = _more(used, before if old is not None and in_scope(quota, resource, old) else {}, names)
        new = _checked(served, obj, quota, hard, names, delta)
        if new:
            charges.append((key, new))
    return charges


def charge(state: ServerState, charges: Charges) -> None:
    """Record the usage of a write, once it is stored."""
    for key, used in charges:
        _write(state, key, used)


def _checked(served: Served, obj: Json, quota: Json, hard: Usage, names: set[str], delta: Usage) -> Usage:
    """Return the usage of a quota after a write; or `Rejection`."""
    name: str = obj["metadata"].get("name", "")
    of = quota["metadata"]["name"]

    def refuse(why: str) -> Rejection:
        return forbidden(served.plural, served.group, name, why)

    if served.full_name == "pods" and (missing := missing_requests(obj, names)):
        raise refuse(f"failed quota: {of}: must specify {missing}")
    used = {it: Quantity(value) for it, value in member(member(quota, "status"), "used").items()}
    unknown = sorted(names - set(used))
    if unknown:
        raise refuse(f"status unknown for quota: {of}, resources: {','.join(unknown)}")
    if not delta:
        return {}
    total = {it: used[it] + amount for it, amount in delta.items()}
    exceeded = sorted(it for it, amount in total.items() if amount > hard[it])
    if exceeded:
        parts = (",".join(f"{it}={amounts[it]}" for it in exceeded) for amounts in (delta, used, hard))
        requested, taken, limit = parts
        raise refuse(f"exceeded quota: {of}, requested: {requested}, used: {taken}, limited: {limit}")
    return total


def _more(used: Usage, before: Usage, names: set[str]) -> Usage:
    """Return what a write adds to the usage."""
    found = {name: used[name] - before.get(name, _NONE) for name in used if name in names}
    return {name: amount for name, amount in found.items() if amount > _NONE}


def _write(state: ServerState, key: str, used: Usage) -> None:
    served = state.kinds.of_storage(QUOTAS)
    assert served is not None  # a kind of the server's own
    stored, version = served.storage.objects[key], state.storage.version + 1
    quota: Json = msgspec.json.decode(stored.data)
    quota["status"]["used"] |= {name: str(amount) for name, amount in used.items()}
    quota["metadata"]["resourceVersion"] = str(version)
    data = served.again(quota)
    state.commit(served.storage, msgspec.structs.replace(stored, version=version, data=data))
