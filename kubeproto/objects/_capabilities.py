"""The capabilities of kinds as base classes, so that a type checker refuses verbs that a kind lacks.

`Api(Pod).log("web-0")` passes mypy and pyright because Pod derives from `RunsContainers`; ConfigMap does not.
The built-in kinds have the bases that fit their subresources; a user's own class names them::

    class SlimPod(kubeproto.objects.RunsContainers, version="v1", kind="Pod", plural="pods"):
        spec: SlimPodSpec

`Object[Spec, Status]` needs none for its status and scale: a custom resource has those that its definition
names, which types cannot express. A `Dynamic` may be anything. A verb that the types allow and the kind is
known to lack is refused when the request is built.
"""

from __future__ import annotations

from ._base import KubeObject


class HasApproval(KubeObject):
    """A kind that is approved or denied: CertificateSigningRequest."""


class HasFinalize(KubeObject):
    """A kind whose finalizers are in its spec and are written separately: Namespace."""


class HasScale(KubeObject):
    """A kind with a scale subresource, by which a client scales it without knowledge of the kind."""


class HasStatus(KubeObject):
    """A kind whose status is written separately from the rest."""


class HasToken(KubeObject):
    """A kind for which a server issues tokens: ServiceAccount."""


class RunsContainers(KubeObject):
    """A kind that runs containers, with logs, exec, resizing, eviction and binding to a node: Pod."""
