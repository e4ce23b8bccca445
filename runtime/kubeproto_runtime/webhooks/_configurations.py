"""The objects that make a server call webhooks: configurations, and the conversion in a definition."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from kubeproto import KubeObject, ObjectMeta
from kubeproto.crd import CustomResourceDefinition, definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto.kinds.admissionregistration_v1 import (
        MatchCondition,
        MutatingWebhook,
        MutatingWebhookConfiguration,
        ValidatingWebhook,
        ValidatingWebhookConfiguration,
        WebhookClientConfig,
    )
    from kubeproto.kinds.meta_v1 import LabelSelector
else:
    # For help() and inspect.signature(): only programs that need configurations import the kinds.
    MatchCondition = LabelSelector = Any


class Where(Struct, frozen=True, kw_only=True):
    """Where webhooks are served: at a Service of the cluster, or at a URL for all that is outside.

    `ca_bundle` is the authority that has signed their certificate, in PEM; without one, cert-manager may put
    it in, or the system's authorities are meant.
    """

    namespace: str = ""
    service: str = ""
    port: int = 443
    url: str = ""
    ca_bundle: bytes = b""

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.service):
            raise ValueError("webhooks are either at a Service (namespace and service) or at a url")
        if self.service and not self.namespace:
            raise ValueError(f"in which namespace is the Service {self.service}? name it")
        if self.url and not self.url.startswith("https://"):
            raise ValueError(f"a server calls webhooks over TLS alone, not at {self.url}")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names that the certificate must be valid for."""
        if self.url:
            return (urlsplit(self.url).hostname or "",)
        return (f"{self.service}.{self.namespace}.svc", f"{self.service}.{self.namespace}.svc.cluster.local")


class WebhookOptions(Struct, frozen=True, kw_only=True):
    """How a server calls webhooks. The defaults are Kubernetes' own."""

    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    timeout: int = 10
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: tuple[MatchCondition, ...] = ()


def mutating(
    kind: type[KubeObject], where: Where, path: str, options: WebhookOptions, operations: list[str]
) -> MutatingWebhook:
    """Return the configuration of a defaulting webhook."""
    from kubeproto.kinds.admissionregistration_v1 import MutatingWebhook

    name = f"default.{kind.resource.plural}.{kind.resource.group}"
    return MutatingWebhook(name=name, **_webhook(kind, where, path, options, operations))


def validating(
    kind: type[KubeObject], where: Where, path: str, options: WebhookOptions, operations: list[str]
) -> ValidatingWebhook:
    """Return the configuration of a validating webhook."""
    from kubeproto.kinds.admissionregistration_v1 import ValidatingWebhook

    name = f"validate.{kind.resource.plural}.{kind.resource.group}"
    return ValidatingWebhook(name=name, **_webhook(kind, where, path, options, operations))


def configurations_of(
    name: str, webhooks: Iterable[MutatingWebhook | ValidatingWebhook]
) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
    """Return one configuration for all webhooks that validate, and one for all that fill in defaults."""
    from kubeproto.kinds.admissionregistration_v1 import (
        MutatingWebhook,
        MutatingWebhookConfiguration,
        ValidatingWebhookConfiguration,
    )

    defaulting: list[MutatingWebhook] = []
    checking: list[ValidatingWebhook] = []
    for webhook in webhooks:
        if isinstance(webhook, MutatingWebhook):
            defaulting.append(webhook)
        else:
            checking.append(webhook)
    found: list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration] = []
    if checking:
        found.append(ValidatingWebhookConfiguration(metadata=ObjectMeta(name=name), webhooks=checking))
    if defaulting:
        found.append(MutatingWebhookConfiguration(metadata=ObjectMeta(name=name), webhooks=defaulting))
    return found


def definition_for(
    classes: tuple[type[KubeObject], ...], conversion: dict[str, Any] | None
) -> CustomResourceDefinition:
    """Return the definition of a kind in all these versions, of which the first is stored."""
    made = definition_of(*classes, storage=classes[0].resource.version)
    if conversion is not None:
        made.spec["conversion"] = conversion
    return made


def conversion_of(where: Where, path: str) -> dict[str, Any]:
    """Return the `conversion` of a definition whose webhook is there."""
    client: dict[str, Any] = (
        {"url": where.url.rstrip("/") + path}
        if where.url
        else {
            "service": {"namespace": where.namespace, "name": where.service, "path": path, "port": where.port}
        }
    )
    if where.ca_bundle:
        client["caBundle"] = b64encode(where.ca_bundle).decode()
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


def _webhook(
    kind: type[KubeObject], where: Where, path: str, options: WebhookOptions, operations: list[str]
) -> dict[str, Any]:
    from kubeproto.kinds.admissionregistration_v1 import RuleWithOperations

    resource = kind.resource
    rule = RuleWithOperations(
        api_groups=[resource.group],
        api_versions=[resource.version],
        operations=operations,
        resources=[resource.plural],
        scope="Namespaced" if resource.namespaced else "Cluster",
    )
    return {
        "admission_review_versions": ["v1"],
        "client_config": _client_config(where, path),
        "rules": [rule],
        "failure_policy": options.failure_policy,
        "side_effects": options.side_effects,
        "timeout_seconds": options.timeout,
        "match_policy": "Equivalent",
        "namespace_selector": options.namespace_selector,
        "object_selector": options.object_selector,
        "match_conditions": list(options.match_conditions) or None,
    }


def _client_config(where: Where, path: str) -> WebhookClientConfig:
    from kubeproto.kinds.admissionregistration_v1 import ServiceReference, WebhookClientConfig

    bundle = where.ca_bundle or None
    if where.url:
        return WebhookClientConfig(url=where.url.rstrip("/") + path, ca_bundle=bundle)
    service = ServiceReference(name=where.service, namespace=where.namespace, path=path, port=where.port)
    return WebhookClientConfig(service=service, ca_bundle=bundle)
