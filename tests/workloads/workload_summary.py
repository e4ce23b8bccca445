"""The objects in a namespace, without the values that differ between two clusters: times, uids, random
names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final, TypeAlias

from workload_steps import APPS, BATCH, POLICY, Cluster

Json: TypeAlias = dict[str, Any]
LISTS: Final = {
    "deployments": APPS, "replicasets": APPS, "statefulsets": APPS, "daemonsets": APPS,
    "controllerrevisions": APPS, "jobs": BATCH, "cronjobs": BATCH, "poddisruptionbudgets": POLICY,
    "pods": "/api/v1", "persistentvolumeclaims": "/api/v1", "endpoints": "/api/v1",
    "resourcequotas": "/api/v1", "replicationcontrollers": "/api/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
}  # fmt: skip
_DRAWN: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_SUFFIX: Final = re.compile(rf"-{_DRAWN}{{5}}(?![\w-])")
_HASHES: Final = ("pod-template-hash", "controller.kubernetes.io/hash", "controller-revision-hash")
_TIMES: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_MINUTES: Final = re.compile(r"(?<=tick)-\d{8}")
_SCHEDULED: Final = re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_NODES: Final = re.compile(r"(\bdaemons[a-z-]*)-\d\b")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_SCALED: Final = re.compile(r"(Scaled (?:up|down) replica set \S+) from \d+ to \d+")
# Written again by a controller whose cache does not show its own write yet.
_ONCE: Final = ("NoPods", "SawCompletedJob", "JobAlreadyActive")
# A pod of a StatefulSet is deleted again if the cache of its controller does not show its deletion yet. The
# number of its creations shows how often it really was deleted.
_AGAIN: Final = re.compile(r"StatefulSet \S+ Normal SuccessfulDelete: ")
_MOVING: Final = re.compile(
    r'"message": "(?:Created new replica set [^ ]*|ReplicaSet [^ ]* is progressing.)", "reason": "\w+"'
)
_MANY: Final = "more than are distinguished"
_MAX_SCALINGS: Final = 7  # the tenth and all later scalings are combined
_COMBINED: Final = "(combined from similar events): "
_COMPONENTS: Final = frozenset((
    "deployment-controller", "replicaset-controller", "replication-controller", "statefulset-controller",
    "daemonset-controller", "job-controller", "cronjob-controller", "endpoint-controller",
    "endpoint-slice-controller", "controllermanager", "resourcequota-controller",
))  # fmt: skip
_DROPPED: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")


class Summary:
    """Summarizes a namespace repeatedly; hashes are numbered in the order of their first occurrence."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._hashes: dict[str, str] = {}

    def take(self) -> Json:
        """Return the current summary."""
        objects: dict[str, list[Json]] = {}
        for resource, api in LISTS.items():
            objects[resource] = self._list(api, resource)
        self._number([*objects["replicasets"], *objects["controllerrevisions"]])
        summaries = {
            resource: [_visible_part(resource, obj) for obj in items] for resource, items in objects.items()
        }
        events = Counter[str]()
        listed = self._list("/api/v1", "events")
        combined_groups = {_group(obj) for obj in listed if obj["message"].startswith(_COMBINED)}
        scalings = Counter(_group(obj) for obj in listed)
        for event in listed:
            if event.get("source", {}).get("component") not in _COMPONENTS:
                continue
            involved = event["involvedObject"]
            name = involved.get("name", "")
            message, count = event["message"].removeprefix(_COMBINED), event.get("count", 1)
            scaled = _SCALED.fullmatch(message)
            shown_text = scaled[1] if scaled else message
            if _group(event) in combined_groups or (scaled and scalings[_group(event)] > _MAX_SCALINGS):
                shown_text = _MANY
            text = f"{involved['kind']} {name} {event['type']} {event['reason']}: {shown_text}"
            # The number of steps of a change of size, and of failed attempts, depends on timing.
            once = scaled is not None or event["type"] == "Warning" or event["reason"] in _ONCE
            events[self._plain(text)] = 1 if once else events[self._plain(text)] + count
        summary = {
            resource: sorted(map(self._plain, map(_text, items)))
            for resource, items in summaries.items()
            if items
        }
        summary["pods"] = [
            f"{count} x {pod}" for pod, count in sorted(Counter(summary.get("pods", ())).items())
        ]
        return {**summary, "events": dict(sorted(events.items()))}

    def plain(self, value: Any) -> Any:
        """Return a response without its random values."""
        return json.loads(self._plain(json.dumps(value)))

    def _list(self, api: str, resource: str) -> list[Json]:
        status, response = self._cluster.send("GET", f"{api}/namespaces/{self._namespace}/{resource}")
        assert status == 200, response
        items: list[Json] = response["items"]
        return items

    def _number(self, owners: list[Json]) -> None:
        for obj in sorted(
            owners,
            key=lambda revision: (revision["metadata"]["creationTimestamp"], revision.get("revision", 0)),
        ):
            for name in _HASHES:
                value = obj["metadata"].get("labels", {}).get(name, "")
                short = value.rpartition("-")[2]
                if short and short not in self._hashes:
                    self._hashes[short] = f"H{len(self._hashes) + 1}"

    def _plain(self, text: str) -> str:
        for hashed, number in self._hashes.items():
            text = text.replace(hashed, number)
        text = text.replace(self._namespace, "<namespace>")
        text = _UID.sub("<uid>", _TIMES.sub("<time>", text))
        # The controller chooses the first node at random.
        text = _NODES.sub(r"\1-#", text)
        text = _SCHEDULED.sub("<time>", _MINUTES.sub("-<minute>", text))
        return _SUFFIX.sub("-*", text)


def alike(obj: Json, other: Json) -> bool:
    """Return whether two outcomes are equal, except for differences of timing.

    These are: whether Events were combined, whether a Deployment reported progress after it created a set,
    and how often a pod was deleted that was already ending.
    """
    texts = (*obj["events"], *other["events"])
    mixed = tuple(text.removesuffix(_MANY) for text in texts if text.endswith(_MANY))
    first, second = (
        {
            **it,
            "events": {
                text: 1 if _AGAIN.match(text) else count
                for text, count in it["events"].items()
                if not text.startswith(mixed)
            },
            "deployments": [_MOVING.sub("<moving>", text) for text in it.get("deployments", ())],
        }
        for it in (obj, other)
    )
    return first == second


def _group(event: Json) -> tuple[str, str]:
    """Return the values that must be equal for Events to be combined, except their message."""
    return event["involvedObject"].get("uid", ""), event["reason"]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _visible_part(resource: str, obj: Json) -> Json:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    generation = meta.pop("generation", None)
    status: Json = obj.get("status") or {}
    if "observedGeneration" in status:
        status["observedGeneration"] = status["observedGeneration"] == generation or "behind"
    if "conditions" in status:
        conditions: list[Json] = status["conditions"]
        conditions.sort(key=lambda entry: str(entry["type"]))
        for condition in conditions:
            condition.pop("observedGeneration", None)
    fields = {name: value for name, value in obj.items() if name not in ("metadata", "kind", "apiVersion")}
    if resource == "cronjobs":
        active: list[Json] = status.get("active") or []
        for condition in active:
            _hide(condition)
    if resource == "endpointslices":
        for condition in fields["endpoints"] or ():
            _hide(condition.get("targetRef", {}))
        fields["endpoints"] = sorted(fields["endpoints"] or [], key=_text)
    for subset in fields.get("subsets") or ():
        for name in ("addresses", "notReadyAddresses"):
            for condition in subset.get(name, ()):
                _hide(condition["targetRef"])
            subset.get(name, []).sort(key=_text)
        subset.get("ports", []).sort(key=_text)
    if resource == "endpoints":
        fields.get("subsets", []).sort(key=_text)
    if resource == "pods":
        fields["spec"] = {name: fields["spec"].get(name) for name in _OF_PODS if name in fields["spec"]}
        fields["spec"]["images"] = [condition["image"] for condition in obj["spec"]["containers"]]
        status.pop("conditions", None)
        status.pop("containerStatuses", None)
        meta["annotations"] = meta.get("annotations") or {}
    return {"metadata": meta, **fields, **({"status": status} if status else {})}


def _hide(reference: Json) -> None:
    reference.pop("resourceVersion", None)


_OF_PODS: Final = (
    "volumes", "hostname", "subdomain", "affinity", "tolerations", "restartPolicy", "nodeName",
)  # fmt: skip
