"""`AccessRecorder`: which rights the requests of a simulated operator need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeproto_sim import attributes_of

from .._access import RequiredAccess, Scope, dump_access, parse_access

if TYPE_CHECKING:
    import os

    from kubeproto import Head
    from kubeproto_sim import ServerResponse

_CREATED: Final = 201
# Objects of these groups are few and have fixed names, so a rule can name them.
_NAMED_GROUPS: Final = ("admissionregistration.k8s.io", "apiextensions.k8s.io")
_EVENTS: Final = ("events.k8s.io", "create")
# What every account may read; RBAC is never asked for more than a role that all of them have.
_FOR_ALL: Final = ("authentication.k8s.io", "authorization.k8s.io")


class AccessRecorder:
    """Records what the requests of a client need to be allowed: give it to `simulated`.

    ::

        recorder = AccessRecorder(namespace="library")
        async with simulated(cluster, namespace="library", recorder=recorder) as client:
            client.start(operator(client).run())
            ...
        recorder.save("access.json")    # what `kubeproto manifests --access access.json` reads

    `namespace` is that of the operator itself, where its Lease and its Secrets are: rights there are for
    single objects. Objects that it reconciles in a test should be in another one.
    """

    def __init__(self, *, namespace: str) -> None:
        self.namespace = namespace
        self.needed: set[RequiredAccess] = set()

    def __repr__(self) -> str:
        return f"<{len(self.needed)} rights needed so far>"

    def note(self, head: Head, response: ServerResponse | None = None) -> None:
        """Record a request; a write that has created an object needs the right to create as well."""
        asked = attributes_of(head)
        if not asked.is_resource_request or asked.group in _FOR_ALL:
            return  # discovery and reviews about oneself are allowed to every account
        scope: Scope = "namespaces" if asked.namespace else "cluster"
        if asked.namespace and asked.namespace == self.namespace:
            scope = "own"
        named = scope == "own" or (scope == "cluster" and asked.group in _NAMED_GROUPS)
        name = asked.name if named and asked.verb != "create" else ""
        self.needed.add(RequiredAccess(asked.group, asked.resource_path, asked.verb, scope, name))
        if (asked.group, asked.verb) == _EVENTS:
            # A repeated Event is patched, which few tests wait for.
            self.needed.add(RequiredAccess(asked.group, asked.resource_path, "patch", scope))
        if response is not None and response.status == _CREATED and asked.verb in ("patch", "update"):
            self.needed.add(RequiredAccess(asked.group, asked.resource, "create", scope))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was needed to a file, with what the file has already: several tests may share one."""
        file = Path(path)
        before = parse_access(file.read_bytes()) if file.exists() else frozenset[RequiredAccess]()
        if not self.needed <= before:
            file.write_text(dump_access(before | self.needed))
