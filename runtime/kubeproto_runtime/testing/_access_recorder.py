"""`AccessRecorder`: records the permissions that the requests of a simulated operator need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeproto_sim import attributes_of

from .._access import RequiredAccess, Scope, dump_access, parse_access

if TYPE_CHECKING:
    import os

    from kubeproto import RawRequest
    from kubeproto_sim import ServerResponse

_CREATED: Final = 201
# Objects of these groups are few and have fixed names, so a rule can name them.
_NAMED_GROUPS: Final = ("admissionregistration.k8s.io", "apiextensions.k8s.io")
_EVENTS: Final = ("events.k8s.io", "create")
# The default roles of Kubernetes permit them for every account.
_GRANTED_TO_ALL: Final = ("authentication.k8s.io", "authorization.k8s.io")


class AccessRecorder:
    """Records the permissions that the requests of a client need; the argument `recorder` of `simulated`.

    ::

        recorder = AccessRecorder(namespace="library")
        async with simulated(cluster, namespace="library", recorder=recorder) as client:
            client.start(operator(client).run())
            ...
        recorder.save("access.json")    # for `kubeproto manifests --access access.json`

    `namespace` is the namespace of the operator, with its Lease and its Secrets. Permissions in this
    namespace are limited to single objects, so a test should use another namespace for the objects that the
    operator reconciles.
    """

    def __init__(self, *, namespace: str) -> None:
        self.namespace = namespace
        self.needed: set[RequiredAccess] = set()

    def __repr__(self) -> str:
        return f"<{len(self.needed)} required permissions so far>"

    def record(self, request: RawRequest, response: ServerResponse | None = None) -> None:
        """Record a request. A patch that created an object needs permission to create it as well."""
        attributes = attributes_of(request)
        if not attributes.is_resource_request or attributes.group in _GRANTED_TO_ALL:
            return
        scope: Scope = "namespaces" if attributes.namespace else "cluster"
        if attributes.namespace and attributes.namespace == self.namespace:
            scope = "own"
        has_name = scope == "own" or (scope == "cluster" and attributes.group in _NAMED_GROUPS)
        name = attributes.name if has_name and attributes.verb != "create" else ""
        self.needed.add(
            RequiredAccess(attributes.group, attributes.resource_path, attributes.verb, scope, name)
        )
        if (attributes.group, attributes.verb) == _EVENTS:
            # A repeated Event is patched, but few tests repeat an Event.
            self.needed.add(RequiredAccess(attributes.group, attributes.resource_path, "patch", scope))
        if response is not None and response.status == _CREATED and attributes.verb in ("patch", "update"):
            self.needed.add(RequiredAccess(attributes.group, attributes.resource, "create", scope))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Add the permissions to a file, which several tests may share."""
        file = Path(path)
        saved = parse_access(file.read_bytes()) if file.exists() else frozenset[RequiredAccess]()
        if not self.needed <= saved:
            file.write_text(dump_access(saved | self.needed))
