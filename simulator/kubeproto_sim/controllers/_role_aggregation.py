"""Aggregated cluster roles: their rules are those of the cluster roles that they select by label."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from kubeproto.objects import Selector

from .._state import ServerState
from ..storage._json_values import member, objects_in
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._server_writes import edit

CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"


class RoleAggregation:
    """The controller of aggregated cluster roles."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._changed = False

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Mark a change of a cluster role."""
        if storage.name == CLUSTER_ROLES:
            self._changed = True

    def work(self) -> bool:
        """Gather the rules again if a cluster role has changed; return whether anything was written."""
        if not self._changed:
            return False
        self._changed = False
        version = self.state.storage.version
        served = self.state.kinds.of_storage(CLUSTER_ROLES)
        assert served is not None  # a built-in kind is always served
        storage = served.storage
        for key in list(storage.sorted_keys()):
            stored = storage.objects[key]
            if b'"aggregationRule":' not in stored.data:
                continue
            role: dict[str, Any] = msgspec.json.decode(stored.data)
            rules = self._gather(storage, role)
            if rules != (role.get("rules") or []):
                edit(self.state, served, storage.objects[key], partial(_set_rules, rules=rules))
        return self.state.storage.version != version

    def adopt(self, other: RoleAggregation) -> None:
        """Copy the state of the cluster from which this cluster was forked."""
        self._changed = other._changed

    def _gather(self, storage: ResourceStorage, role: dict[str, Any]) -> list[Any]:
        rules: list[Any] = []
        for selector in objects_in(member(role, "aggregationRule"), "clusterRoleSelectors"):
            label_selector = Selector.from_object(selector)
            for key in storage.sorted_keys():
                stored = storage.objects[key]
                if stored.name == role["metadata"]["name"] or not label_selector.matches(stored.labels or {}):
                    continue
                rules += [
                    rule
                    for rule in objects_in(msgspec.json.decode(stored.data), "rules")
                    if rule not in rules
                ]
        return rules


def _set_rules(obj: dict[str, Any], *, rules: list[Any]) -> None:
    obj["rules"] = rules
