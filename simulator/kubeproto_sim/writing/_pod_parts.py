"""What `resize` and `ephemeralcontainers` may change of a pod: one part of its spec, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubeproto.crd import Violation

from ..storage._json_values import copied, listed, member

Json = dict[str, Any]
POD_PARTS: Final = ("ephemeralcontainers", "resize")
_RESIZED: Final = ("resources", "resizePolicy")


def with_part(subresource: str, before: Json, obj: Json) -> Json:
    """The old pod with the part that this subresource may change."""
    changed: Json = copied(before)
    changed["metadata"]["resourceVersion"] = obj["metadata"].get("resourceVersion", "")
    if "managedFields" in obj["metadata"]:
        changed["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
    spec = member(obj, "spec")
    if subresource == "ephemeralcontainers":
        changed["spec"]["ephemeralContainers"] = listed(spec, "ephemeralContainers")
        return changed
    for part in ("containers", "initContainers"):
        wanted = {one.get("name"): one for one in listed(spec, part)}
        for container in listed(changed["spec"], part):
            _take(container, wanted.get(container["name"]))
    return changed


def _take(container: Json, wanted: Json | None) -> None:
    for name in _RESIZED:
        if wanted is not None and name in wanted:
            container[name] = wanted[name]
        elif wanted is not None:
            container.pop(name, None)


def check_part(subresource: str, obj: Json, old: Json) -> Iterator[Violation]:
    """What a change of this part must not do: containers for debugging stay as they are."""
    if subresource != "ephemeralcontainers":
        return
    new = {one["name"]: one for one in listed(obj["spec"], "ephemeralContainers")}
    for at, one in enumerate(listed(old["spec"], "ephemeralContainers")):
        name = one["name"]
        if name not in new:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            yield Violation("FieldValueForbidden", "spec.ephemeralContainers", detail=text)
        elif new[name] != one:
            text = f'existing ephemeral containers "{name}" may not be changed\n'
            yield Violation("FieldValueForbidden", f"spec.ephemeralContainers[{at}]", detail=text)
