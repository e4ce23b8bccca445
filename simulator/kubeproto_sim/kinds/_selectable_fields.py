"""The selectable fields of each kind, and the paths of their values.

Every kind can be selected by name and namespace. Some built-in kinds have a list of their own instead. A
server names the fields in Go, so the paths of a few differ from their names.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import is_object

META: Final = ("metadata.name", "metadata.namespace")


class SelectableField(Struct, frozen=True):
    """The paths of a field in the stored object: the first with a value counts; without any it is `zero`."""

    paths: tuple[str, ...]
    zero: str = ""

    def value(self, obj: Any) -> str:
        """Return the value of the field as text, which selectors are compared with."""
        for path in self.paths:
            current: Any = obj
            for part in path.split("."):
                current = current.get(part) if is_object(current) else None
            if current not in (None, ""):
                return current if isinstance(current, str) else msgspec.json.encode(current).decode()
        return self.zero


def _at_own_path(*names: str) -> dict[str, SelectableField]:
    return {name: SelectableField((name,)) for name in names}


META_FIELDS: Final = _at_own_path(*META)
_SOURCE: Final = SelectableField(("source.component", "reportingComponent"))
_REFERENCE_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SIGNER: Final = _at_own_path("metadata.name", "spec.signerName")

# From pkg/apis/*/v1/conversion.go and the ToSelectableFields of pkg/registry, Kubernetes 1.36.
BUILT_IN: Final[dict[str, dict[str, SelectableField]]] = {
    "pods": _at_own_path(
        *META, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ) | {
        "spec.host": SelectableField(("spec.nodeName",)),
        "spec.hostNetwork": SelectableField(("spec.hostNetwork",), "false"),
        "status.podIPs": SelectableField(()),  # accepted as a selector, but always empty
    },
    "events": _at_own_path(
        *META, *(f"involvedObject.{name}" for name in _REFERENCE_FIELDS), "reason", "reportingComponent",
        "type",
    ) | {"source": _SOURCE},
    # Stored as events of core/v1.
    "events.events.k8s.io": _at_own_path(*META, "reason", "type") | {
        "reportingController": SelectableField(("reportingComponent",)),
    } | {f"regarding.{name}": SelectableField((f"involvedObject.{name}",)) for name in _REFERENCE_FIELDS},
    "secrets": _at_own_path(*META, "type"),
    "services": _at_own_path(*META, "spec.clusterIP", "spec.type"),
    "namespaces": _at_own_path("metadata.name", "status.phase"),
    "nodes": _at_own_path("metadata.name") | {
        "spec.unschedulable": SelectableField(("spec.unschedulable",), "false"),
    },
    "replicationcontrollers": _at_own_path(*META) | {
        "status.replicas": SelectableField(("status.replicas",), "0"),
    },
    "jobs.batch": _at_own_path(*META) | {"status.successful": SelectableField(("status.succeeded",), "0")},
    "certificatesigningrequests.certificates.k8s.io": _SIGNER,
    "clustertrustbundles.certificates.k8s.io": _SIGNER,
    "resourceslices.resource.k8s.io": _at_own_path("metadata.name", "spec.nodeName", "spec.driver"),
}  # fmt: skip
