"""Quotas: a write that exceeds a quota of its namespace is rejected.

The usage is charged to the status of the quota together with the write, so that two writes cannot use the
same remaining quota. A controller counts again when an object is deleted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubeproto.objects import Quantity

from .._rejections import Rejection, forbidden
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member
from ..storage._storage import StoredEvent
from ._quota_usage import Json, Usage, in_scope, missing_requests, names_for, usage_of

QUOTAS: Final = "resourcequotas"
_NONE: Final = Quantity(0)


Charges = list[tuple[str, Usage]]


def index_quota(state: ServerState, event: StoredEvent) -> None:
    """Update the index of quotas by namespace."""
    keys = state.quotas.setdefault(event.stored.namespace, set())
    if event.change == "DELETED":
        keys.discard(event.stored.key)
    else:
        keys.add(event.stored.key)


def check_quotas(
    state: ServerState, served: ServedKind, obj: Json, old: Json | None, *, namespace: str
) -> Charges:
    """Return the new usage of each quota that a write uses; raise `Rejection` if a quota is exceeded."""
    quotas = state.quotas.get(namespace)
    if not quotas or not served.namespaced:
        return []
    resource, now = served.full_name, state.clock.time
    usage = usage_of(resource, obj, now)
    previous_usage = usage_of(resource, old, now) if old is not None else {}
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
        increase = _increase(
            usage, previous_usage if old is not None and in_scope(quota, resource, old) else {}, names
        )
        total = _total_within_limits(served, obj, quota, hard, names, increase)
        if total:
            charges.append((key, total))
    return charges


def charge(state: ServerState, charges: Charges) -> None:
    """Write the usage to the quotas after the object was stored."""
    for key, usage in charges:
        _write_usage(state, key, usage)


def _total_within_limits(
    served: ServedKind, obj: Json, quota: Json, hard: Usage, names: set[str], increase: Usage
) -> Usage:
    """Return the usage of a quota after a write; raise `Rejection` if it exceeds the quota."""
    name: str = obj["metadata"].get("name", "")
    quota_name = quota["metadata"]["name"]

    def refuse(message: str) -> Rejection:
        return forbidden(served.plural, served.group, name, message)

    if served.full_name == "pods" and (missing := missing_requests(obj, names)):
        raise refuse(f"failed quota: {quota_name}: must specify {missing}")
    used = {
        resource_name: Quantity(value)
        for resource_name, value in member(member(quota, "status"), "used").items()
    }
    unknown = sorted(names - set(used))
    if unknown:
        raise refuse(f"status unknown for quota: {quota_name}, resources: {','.join(unknown)}")
    if not increase:
        return {}
    total = {resource_name: used[resource_name] + amount for resource_name, amount in increase.items()}
    exceeded = sorted(
        resource_name for resource_name, amount in total.items() if amount > hard[resource_name]
    )
    if exceeded:
        requested, present, limited = (
            ",".join(f"{resource_name}={amounts[resource_name]}" for resource_name in exceeded)
            for amounts in (increase, used, hard)
        )
        raise refuse(
            f"exceeded quota: {quota_name}, requested: {requested}, used: {present}, limited: {limited}"
        )
    return total


def _increase(usage: Usage, previous_usage: Usage, names: set[str]) -> Usage:
    """Return the usage that a write adds."""
    increase = {name: usage[name] - previous_usage.get(name, _NONE) for name in usage if name in names}
    return {name: amount for name, amount in increase.items() if amount > _NONE}


def _write_usage(state: ServerState, key: str, usage: Usage) -> None:
    served = state.kinds.of_storage(QUOTAS)
    assert served is not None  # a kind of the server's own
    stored, version = served.storage.objects[key], state.storage.version + 1
    quota: Json = msgspec.json.decode(stored.data)
    quota["status"]["used"] |= {name: str(amount) for name, amount in usage.items()}
    quota["metadata"]["resourceVersion"] = str(version)
    data = served.encode_unconverted(quota)
    state.commit(served.storage, msgspec.structs.replace(stored, version=version, data=data))
