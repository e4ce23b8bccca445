"""Requests about the kinds that controllers act upon.

The controllers of a real server write beside the test, and when they do is chance. So nothing here depends on
what they write: no request names a version, and `without_controllers` leaves their fields out.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import strategies as st

from conformance.client import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC
from conformance.comparing import Ask
from conformance.sequences import LABELS, MANAGERS, WRITE_QUERY, Draw
from conformance.workload_kinds import KINDS, Kind, one
from kubeproto.objects import is_list, is_object

NAMES: Final = ("a", "b")
OURS: Final = ("suite", *MANAGERS)  # whose fields are compared
META: Final = st.fixed_dictionaries(
    {}, optional={"labels": LABELS, "annotations": one({"n": "o"}), "finalizers": one([])}
)
PATHS: Final = (
    "/spec/replicas",
    "/spec/template/spec/containers/0/image",
    "/spec/ports/0/port",
    "/metadata/labels",
    "/spec/paused",
    "/spec/x",
)


def _object(draw: Draw, kind: Kind, name: str) -> dict[str, Any]:
    meta: dict[str, Any] = draw(META)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name} | meta,
        **draw(kind.content),
    }


def _patch(draw: Draw, kind: Kind, target: str) -> Ask:
    content: dict[str, Any] = draw(kind.content)
    if "spec" in content and draw(st.booleans()):
        # A part of a spec, as people patch it.
        names = sorted(content["spec"])
        content = {"spec": {name: content["spec"][name] for name in names if draw(st.booleans())}}
    return Ask("PATCH", target + draw(WRITE_QUERY), content, draw(one(MERGE, STRATEGIC)))


def _json_patch(draw: Draw, target: str) -> Ask:
    operation = {"op": draw(one("add", "replace", "remove")), "path": draw(one(*PATHS))}
    if operation["op"] != "remove":
        operation["value"] = draw(one(1, 2, "i:2", {"l": "1"}, True))
    return Ask("PATCH", target, [operation], JSON_PATCH)


@st.composite
def asks(draw: Draw) -> Ask:
    """One request."""
    kind = draw(st.sampled_from(KINDS))
    name = draw(st.sampled_from(NAMES))
    target = f"{kind.home}/{name}"
    match draw(st.integers(0, 11)):
        case 0 | 1 | 2 | 3 | 4:
            return Ask("POST", kind.home + draw(WRITE_QUERY), _object(draw, kind, name))
        case 5:
            return Ask("PUT", target + draw(WRITE_QUERY), _object(draw, kind, name))
        case 6 | 7:
            return _patch(draw, kind, target)
        case 8:
            return _json_patch(draw, target)
        case 9:
            query = f"?fieldManager={draw(one(*MANAGERS))}{draw(one('', '&force=true', '&dryRun=All'))}"
            return Ask("PATCH", target + query, _object(draw, kind, name), APPLY)
        case 10:
            return Ask("GET", target)
        case _:
            return Ask("DELETE", target, {"propagationPolicy": "Background", "gracePeriodSeconds": 0}, JSON)


DRAWN: Final = ("clusterIP", "nodePort", "healthCheckNodePort")


def without_controllers(body: Any) -> Any:
    """An answer without what controllers write, and without what a server draws."""
    found = copy.deepcopy(body)
    if found.get("kind") == "Status":
        return _of_refusal(found)
    found.pop("status", None)
    meta = found["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"):
        meta.pop(name, None)
    for entry in meta.get("managedFields", ()):
        entry.pop("time", None)
    meta["managedFields"] = sorted(
        (one for one in meta.get("managedFields", ()) if one["manager"] in OURS),
        key=lambda one: (one["manager"], one["operation"], one.get("subresource", "")),
    )
    if found["kind"] == "Deployment":
        # A change of its annotations counts, and the controller's stands there.
        meta.pop("generation", None)
    annotations = meta.get("annotations", {})
    annotations.pop("deployment.kubernetes.io/revision", None)
    if not annotations:
        meta.pop("annotations", None)
    return _without_drawn(found)


def _without_drawn(value: Any) -> Any:
    if is_object(value):
        return {
            name: "<drawn>" if _is_drawn(name, held) else _without_drawn(held) for name, held in value.items()
        }
    return [_without_drawn(held) for held in value] if is_list(value) else value


def _is_drawn(name: str, held: Any) -> bool:
    if name == "clusterIPs":
        return bool(held != ["None"])
    if "controller-uid" in name:
        return True
    return name in DRAWN and held not in (None, "", "None", {})


def _of_refusal(status: dict[str, Any]) -> Any:
    """What a refusal is and which fields it blames; texts of built-in kinds are printed from Go's types."""
    details: dict[str, Any] = status.get("details") or {}
    causes = {(cause.get("field", ""), cause.get("reason", "")) for cause in details.get("causes") or ()}
    if status.get("status") == "Success":
        return {"status": "Success"}
    return {"code": status["code"], "reason": status.get("reason", ""), "causes": sorted(causes)}
