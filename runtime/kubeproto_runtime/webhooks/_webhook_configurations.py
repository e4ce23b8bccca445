"""The objects that register webhooks: webhook configurations, and definitions with a conversion."""

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
    # Names for help() and inspect.signature(). Only programs that create configurations import the kinds.
    MatchCondition = LabelSelector = Any


class WebhookAddress(Struct, frozen=True, kw_only=True):
    """The address of webhooks: a Service of the cluster, or the URL of a server outside of it.

    `ca_bundle` contains the authorities that have signed the certificate of the webhooks, in PEM. If it is
    empty, cert-manager may inject a bundle; otherwise the API server trusts the authorities of its system.
    """

    namespace: str = ""
    service: str = ""
    port: int = 443
    url: str = ""
    ca_bundle: bytes = b""

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.service):
            raise ValueError("the address of webhooks is either a Service (namespace and service) or a url")
        if self.service and not self.namespace:
            raise ValueError(f"the address of the Service {self.service} requires its namespace")
        if self.url and not self.url.startswith("https://"):
            raise ValueError(
                f"an API server calls webhooks only over TLS: {self.url} does not begin with https://"
            )

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names for which the certificate must be valid."""
        if self.url:
            return (urlsplit(self.url).hostname or "",)
        return (f"{self.service}.{self.namespace}.svc", f"{self.service}.{self.namespace}.svc.cluster.local")


class WebhookOptions(Struct, frozen=True, kw_only=True):
    """The options of calls to webhooks, with the defaults of Kubernetes."""

    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    timeout: int = 10
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: tuple[MatchCondition, ...] = ()


def mutating_webhook(
    kind: type[KubeObject], address: WebhookAddress, path: str, options: WebhookOptions, operations: list[str]
) -> MutatingWebhook:
    """Return the configuration of a defaulting webhook."""
    from kubeproto.kinds.admissionregistration_v1 import MutatingWebhook

    name = f"default.{kind.resource.plural}.{kind.resource.group}"
    return MutatingWebhook(name=name, **_webhook_fields(kind, address, path, options, operations))


def validating_webhook(
    kind: type[KubeObject], address: WebhookAddress, path: str, options: WebhookOptions, operations: list[str]
) -> ValidatingWebhook:
    """Return the configuration of a validating webhook."""
    from kubeproto.kinds.admissionregistration_v1 import ValidatingWebhook

    name = f"validate.{kind.resource.plural}.{kind.resource.group}"
    return ValidatingWebhook(name=name, **_webhook_fields(kind, address, path, options, operations))


def configurations_of(
    name: str, webhooks: Iterable[MutatingWebhook | ValidatingWebhook]
) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
    """Return a configuration of all validating webhooks, and a configuration of all mutating webhooks."""
    from kubeproto.kinds.admissionregistration_v1 import (
        MutatingWebhook,
        MutatingWebhookConfiguration,
        ValidatingWebhookConfiguration,
    )

    mutating_webhooks: list[MutatingWebhook] = []
    validating_webhooks: list[ValidatingWebhook] = []
    for webhook in webhooks:
        if isinstance(webhook, MutatingWebhook):
            mutating_webhooks.append(webhook)
        else:
            validating_webhooks.append(webhook)
    configurations: list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration] = []
    if validating_webhooks:
        metadata = ObjectMeta(name=name)
        configurations.append(ValidatingWebhookConfiguration(metadata=metadata, webhooks=validating_webhooks))
    if mutating_webhooks:
        metadata = ObjectMeta(name=name)
        configurations.append(MutatingWebhookConfiguration(metadata=metadata, webhooks=mutating_webhooks))
    return configurations


def definition_for(
    classes: tuple[type[KubeObject], ...], conversion: dict[str, Any] | None
) -> CustomResourceDefinition:
    """Return the definition of a kind in these versions; the first is the storage version."""
    definition = definition_of(*classes, storage=classes[0].resource.version)
    if conversion is not None:
        definition.spec["conversion"] = conversion
    return definition


def conversion_of(address: WebhookAddress, path: str) -> dict[str, Any]:
    """Return the `conversion` of a definition with a webhook at this path."""
    client: dict[str, Any] = (
        {"url": address.url.rstrip("/") + path}
        if address.url
        else {
            "service": {
                "namespace": address.namespace,
                "name": address.service,
                "path": path,
                "port": address.port,
            }
        }
    )
    if address.ca_bundle:
        client["caBundle"] = b64encode(address.ca_bundle).decode()
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


def _webhook_fields(
    kind: type[KubeObject], address: WebhookAddress, path: str, options: WebhookOptions, operations: list[str]
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
        "client_config": _client_config(address, path),
        "rules": [rule],
        "failure_policy": options.failure_policy,
        "side_effects": options.side_effects,
        "timeout_seconds": options.timeout,
        "match_policy": "Equivalent",
        "namespace_selector": options.namespace_selector,
        "object_selector": options.object_selector,
        "match_conditions": list(options.match_conditions) or None,
    }


def _client_config(address: WebhookAddress, path: str) -> WebhookClientConfig:
    from kubeproto.kinds.admissionregistration_v1 import ServiceReference, WebhookClientConfig

    bundle = address.ca_bundle or None
    if address.url:
        return WebhookClientConfig(url=address.url.rstrip("/") + path, ca_bundle=bundle)
    service = ServiceReference(
        name=address.service, namespace=address.namespace, path=path, port=address.port
    )
    return WebhookClientConfig(service=service, ca_bundle=bundle)
