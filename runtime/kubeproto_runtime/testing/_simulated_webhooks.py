"""Connects webhooks to a simulated cluster in the same process, for tests without sockets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubeproto_sim import WebhookError

from ..webhooks._webhook_configurations import WebhookAddress
from ..webhooks._webhooks import WebhookApplication, Webhooks

if TYPE_CHECKING:
    from kubeproto_sim import Cluster

_NAMESPACE: Final = "default"
_OK: Final = 200


def install_webhooks(
    cluster: Cluster, webhooks: Webhooks[Any] | WebhookApplication, *, name: str = "webhooks"
) -> None:
    """Register webhooks in a simulated cluster, by configurations with this `name`, and connect them.

    The definition of a kind with conversions replaces the definition in the cluster. The handlers run in
    process and must not wait: a handler that waits is an error of the webhook.
    """
    application = _application(webhooks)
    address = WebhookAddress(namespace=_NAMESPACE, service=name)
    for registered in application.webhooks:
        if registered.conversions:
            cluster.define(registered.definition(address))
    for configuration in application.configurations(name, address):
        cluster.put(configuration)
    connect_webhooks(cluster, application, address)


def connect_webhooks(
    cluster: Cluster, webhooks: Webhooks[Any] | WebhookApplication, address: WebhookAddress
) -> None:
    """Call webhooks in process when a simulated cluster calls the Service of `address`.

    The configurations exist in the cluster already, for example from the manifests of an operator.
    """
    application = _application(webhooks)
    for path in application.paths:
        cluster.webhooks.handle_bytes(
            f"{address.namespace}/{address.service}{path}", partial(_respond, application, path)
        )


def _application(webhooks: Webhooks[Any] | WebhookApplication) -> WebhookApplication:
    return webhooks if isinstance(webhooks, WebhookApplication) else WebhookApplication(webhooks)


def _respond(application: WebhookApplication, path: str, body: bytes) -> bytes:
    response = application.respond("POST", path, body)
    try:
        response.send(None)
    except StopIteration as returned:
        status, _, review = returned.value
        if status != _OK:
            raise WebhookError(status, review) from None
        return bytes(review)
    response.close()
    raise RuntimeError(
        f"a handler of {path} waits, and webhooks in process cannot wait: serve it on a port, by"
        " WebhookServer and kubeproto_serve.serve(cluster, webhooks=...)"
    )
