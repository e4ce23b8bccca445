"""The fields of CertificateSigningRequests that each of their subresources preserves."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import Violation

from ..storage._json_values import member, objects_in

Json = dict[str, Any]
CERTIFICATE_REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
_PERMANENT: Final = ("Approved", "Denied", "Failed")


def preserve_request(subresource: str, previous: Json, obj: Json, stamp: str) -> Json:
    """Return the new state of a request: its spec never changes, and approval changes only conditions."""
    obj["spec"] = previous["spec"]
    if subresource not in ("status", "approval"):
        return obj
    old, new = member(previous, "status"), member(obj, "status")
    if subresource == "approval":
        new = old | {"conditions": objects_in(new, "conditions")}
    previous_by_type = {condition["type"]: condition for condition in objects_in(old, "conditions")}
    for condition in objects_in(new, "conditions"):
        earlier = previous_by_type.get(condition.get("type"), {})
        condition.setdefault("lastUpdateTime", stamp)
        if not condition.get("lastTransitionTime"):
            is_same = earlier.get("status") == condition.get("status") and "lastTransitionTime" in earlier
            condition["lastTransitionTime"] = earlier["lastTransitionTime"] if is_same else stamp
    obj["status"] = {name: value for name, value in new.items() if value != []}
    return obj


def check_conditions(previous: Json, obj: Json) -> list[Violation]:
    """Return the violations by conditions that a write removes although they are permanent."""
    types = {condition.get("type") for condition in objects_in(member(obj, "status"), "conditions")}
    return [
        Violation(
            "FieldValueForbidden",
            "status.conditions",
            detail=f'updates may not remove a condition of type "{condition["type"]}"',
        )
        for condition in objects_in(member(previous, "status"), "conditions")
        if condition["type"] in _PERMANENT and condition["type"] not in types
    ]
