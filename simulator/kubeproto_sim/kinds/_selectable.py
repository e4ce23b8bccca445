"""By which fields the objects of a kind can be selected, and where the value of each one is.

Every kind can be selected by name and namespace. Some built-in kinds add fields, and then they accept what
they list and nothing else; a server names the values in Go, so a few are elsewhere than their name suggests.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ..storage._json_values import is_map

META: Final = ("metadata.name", "metadata.namespace")


class SelectableField(Struct, frozen=True):
    """Where the value of a field is in the stored object: at the first path that has one, else `zero`."""

    paths: tuple[str, ...]
    zero: str = ""

    def value(self, obj: Any) -> str:
        """Return the value as the server compares it."""
        for path in self.paths:
            found: Any = obj
            for part in path.split("."):
                found = found.get(part) if is_map(found) else None
            if found not in (None, ""):
                return found if isinstance(found, str) else msgspec.json.encode(found).decode()
        return self.zero


def _same(*names: str) -> dict[str, SelectableField]:
    return {name: SelectableField((name,)) for name in names}


META_FIELDS: Final = _same(*META)
_SOURCE: Final = SelectableField(("source.component", "reportingComponent"))
_ABOUT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SIGNER: Final = _same("metadata.name", "spec.signerName")

# From pkg/apis/*/v1/conversion.go and the ToSelectableFields of pkg/registry, Kubernetes 1.36.
BUILT_IN: Final[dict[str, dict[str, SelectableField]]] = {
    "pods": _same(
        *META, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ) | {
        "spec.host": SelectableField(("spec.nodeName",)),
        "spec.hostNetwork": SelectableField(("spec.hostNetwork",), "false"),
        "status.podIPs": SelectableField(()),  # accepted, and without a value
    },
    "events": _same(
        *META, *(f"involvedObject.{name}" for name in _ABOUT), "reason", "reportingComponent", "type",
    ) | {"source": _SOURCE},
    # Stored as events of core/v1.
    "events.events.k8s.io": _same(*META, "reason", "type") | {
        "reportingController": SelectableField(("reportingComponent",)),
    } | {f"regarding.{name}": SelectableField((f"involvedObject.{name}",)) for name in _ABOUT},
    "secrets": _same(*META, "type"),
    "services": _same(*META, "spec.clusterIP", "spec.type"),
    "namespaces": _same("metadata.name", "status.phase"),
    "nodes": _same("metadata.name") | {
        "spec.unschedulable": SelectableField(("spec.unschedulable",), "false"),
    },
    "replicationcontrollers": _same(*META) | {"status.replicas": SelectableField(("status.replicas",), "0")},
    "jobs.batch": _same(*META) | {"status.successful": SelectableField(("status.succeeded",), "0")},
    "certificatesigningrequests.certificates.k8s.io": _SIGNER,
    "clustertrustbundles.certificates.k8s.io": _SIGNER,
    "resourceslices.resource.k8s.io": _same("metadata.name", "spec.nodeName", "spec.driver"),
}  # fmt: skip
