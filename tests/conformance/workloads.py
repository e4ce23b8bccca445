"""Requests about the kinds of controllers.

The controllers of a real server write concurrently with the test, at random times. So no check depends on
their writes: no request contains a version, and `without_controllers` removes their fields.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import strategies as st

from conformance.client import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC
from conformance.comparing import RequestTemplate
from conformance.sequences import LABELS, MANAGERS, WRITE_QUERY, Draw
from conformance.workload_kinds import KINDS, Kind, any_of
from kubeproto.objects import is_list, is_object

NAMES: Final = ("a", "b")
OURS: Final = ("suite", *MANAGERS)  # the managers whose fields are compared
META: Final = st.fixed_dictionaries(
    {}, optional={"labels": LABELS, "annotations": any_of({"n": "o"}), "finalizers": any_of([])}
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


def _patch(draw: Draw, kind: Kind, target: str) -> RequestTemplate:
    content: dict[str, Any] = draw(kind.content)
    if "spec" in content and draw(st.booleans()):
        # A part of a spec, as people patch it.
        names = sorted(content["spec"])
        content = {"spec": {name: content["spec"][name] for name in names if draw(st.booleans())}}
    return RequestTemplate("PATCH", target + draw(WRITE_QUERY), content, draw(any_of(MERGE, STRATEGIC)))


def _json_patch(draw: Draw, target: str) -> RequestTemplate:
    operation = {"op": draw(any_of("add", "replace", "remove")), "path": draw(any_of(*PATHS))}
    if operation["op"] != "remove":
        operation["value"] = draw(any_of(1, 2, "i:2", {"l": "1"}, True))
    return RequestTemplate("PATCH", target, [operation], JSON_PATCH)


@st.composite
def draw_template(draw: Draw) -> RequestTemplate:
    """Draw a request."""
    kind = draw(st.sampled_from(KINDS))
    name = draw(st.sampled_from(NAMES))
    target = f"{kind.home}/{name}"
    match draw(st.integers(0, 11)):
        case 0 | 1 | 2 | 3 | 4:
            return RequestTemplate("POST", kind.home + draw(WRITE_QUERY), _object(draw, kind, name))
        case 5:
            return RequestTemplate("PUT", target + draw(WRITE_QUERY), _object(draw, kind, name))
        case 6 | 7:
            return _patch(draw, kind, target)
        case 8:
            return _json_patch(draw, target)
        case 9:
            query = f"?fieldManager={draw(any_of(*MANAGERS))}{draw(any_of('', '&force=true', '&dryRun=All'))}"
            return RequestTemplate("PATCH", target + query, _object(draw, kind, name), APPLY)
        case 10:
            return RequestTemplate("GET", target)
        case _:
            return RequestTemplate(
                "DELETE", target, {"propagationPolicy": "Background", "gracePeriodSeconds": 0}, JSON
            )


DRAWN: Final = ("clusterIP", "nodePort", "healthCheckNodePort")


def without_controllers(body: Any) -> Any:
    """Return a response without the fields of controllers, and without random values of the server."""
    result = copy.deepcopy(body)
    if result.get("kind") == "Status":
        return _of_refusal(result)
    result.pop("status", None)
    meta = result["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"):
        meta.pop(name, None)
    for entry in meta.get("managedFields", ()):
        entry.pop("time", None)
    meta["managedFields"] = sorted(
        (any_of for any_of in meta.get("managedFields", ()) if any_of["manager"] in OURS),
        key=lambda any_of: (any_of["manager"], any_of["operation"], any_of.get("subresource", "")),
    )
    if result["kind"] == "Deployment":
        # A change of its annotations counts, and the annotation of the controller is among them.
        meta.pop("generation", None)
    annotations = meta.get("annotations", {})
    annotations.pop("deployment.kubernetes.io/revision", None)
    if not annotations:
        meta.pop("annotations", None)
    return _without_drawn(result)


def _without_drawn(value: Any) -> Any:
    if is_object(value):
        return {
            name: "<drawn>" if _is_drawn(name, child) else _without_drawn(child)
            for name, child in value.items()
        }
    return [_without_drawn(child) for child in value] if is_list(value) else value


def _is_drawn(name: str, child: Any) -> bool:
    if name == "clusterIPs":
        return bool(child != ["None"])
    if "controller-uid" in name:
        return True
    return name in DRAWN and child not in (None, "", "None", {})


def _of_refusal(status: dict[str, Any]) -> Any:
    """Return the code, reason and fields of a refusal; the texts of built-in kinds are printed from Go's
    types.
    """
    details: dict[str, Any] = status.get("details") or {}
    causes = {(cause.get("field", ""), cause.get("reason", "")) for cause in details.get("causes") or ()}
    if status.get("status") == "Success":
        return {"status": "Success"}
    return {"code": status["code"], "reason": status.get("reason", ""), "causes": sorted(causes)}
