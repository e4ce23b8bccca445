"""Pods from templates: they are created and deleted, in batches that double, and Events report it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.objects import copy_json

from ..._rejections import Rejection
from ...storage._json_values import member
from ..objects._object_client import Json, message_of
from ..objects._ownership_claims import key_of, reference_to
from ._control_loop import ControlLoop

# No vowels, and no digits that resemble a vowel, as in the names that a server generates.
_HASH_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_FNV_PRIME, _FNV_OFFSET, _FNV_MASK = 16777619, 2166136261, 0xFFFFFFFF
sorted_json: Final = msgspec.json.Encoder(order="sorted").encode


class PodControl:
    """Creates and deletes pods for a controller, and records an Event for each."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop

    def create(self, pod: Json, owner: Json) -> None:
        """Create a pod; if the server refuses, record an Event and raise `Rejection`."""
        loop = self._loop
        try:
            created = loop.objects.create("pods", pod, loop.user)
        except Rejection as rejection:
            if not is_namespace_terminating(rejection):
                message = f"Error creating: {message_of(rejection)}"
                loop.record(owner, "FailedCreate", message, warning=True)
            raise
        loop.record(owner, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def delete(self, pod: Json, owner: Json) -> None:
        """Delete a pod; if the server refuses, record an Event and raise `Rejection`."""
        loop = self._loop
        try:
            if not loop.objects.delete("pods", key_of(pod), loop.user, uid=pod["metadata"]["uid"]):
                return
        except Rejection as rejection:
            message = f"Error deleting: {message_of(rejection)}"
            loop.record(owner, "FailedDelete", message, warning=True)
            raise
        loop.record(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")


def pod_from(template: Json, owner: Json) -> Json:
    """Return the pod that an owner creates from a template."""
    template = copy_json(template)
    template_meta = member(template, "metadata")
    meta: Json = {
        name: template_meta[name]
        for name in ("labels", "annotations", "finalizers")
        if template_meta.get(name)
    }
    meta["namespace"] = owner["metadata"]["namespace"]
    meta["generateName"] = f"{owner['metadata']['name']}-"
    meta["ownerReferences"] = [reference_to(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec") or {}}


def template_hash(template: Any, collisions: int | None = None) -> str:
    """Return the hash by which a template is named: FNV-1a of its JSON, in the spelling of Kubernetes.

    A real controller hashes the printed form of a Go struct, so the names of a real cluster differ.
    """
    number = _FNV_OFFSET
    for byte in sorted_json(template) + (b"" if collisions is None else collisions.to_bytes(8, "little")):
        number = ((number ^ byte) * _FNV_PRIME) & _FNV_MASK
    return "".join(_HASH_ALPHABET[ord(digit) % len(_HASH_ALPHABET)] for digit in str(number))


def is_namespace_terminating(rejection: Rejection) -> bool:
    """Return whether a write was rejected because its namespace is being deleted."""
    causes = rejection.status.get("details", {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def slow_start_batches(count: int) -> list[int]:
    """Return the sizes of the batches in which objects are created: 1, 2, 4 and so on.

    A controller stops after a batch that failed, so a template that is always rejected costs few requests.
    """
    sizes: list[int] = []
    size = 1
    while count > 0:
        sizes.append(min(size, count))
        count -= size
        size *= 2
    return sizes
