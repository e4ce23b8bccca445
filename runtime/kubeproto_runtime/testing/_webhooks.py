"""Webhooks in the process of a simulated cluster, for tests without sockets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubeproto_sim import WebhookError

from ..webhooks._configurations import Where
from ..webhooks._webhooks import WebhookApplication, Webhooks

if TYPE_CHECKING:
    from kubeproto_sim import Cluster

_NAMESPACE: Final = "default"
_OK: Final = 200


def install_webhooks(
    cluster: Cluster, webhooks: Webhooks[Any] | WebhookApplication, *, name: str = "webhooks"
) -> None:
    """Have a simulated cluster call these webhooks: their configurations are put into it, named `name`.

    A kind that they convert is defined in all its versions, in place of what the cluster knows of it. They
    answer in process, in no time: a handler that waits for something is an error of the webhook.
    """
    application = _application(webhooks)
    where = Where(namespace=_NAMESPACE, service=name)
    for one in application.webhooks:
        if one.conversions:
            cluster.define(one.definition(where))
    for configuration in application.configurations(name, where):
        cluster.put(configuration)
    connect_webhooks(cluster, application, where)


def connect_webhooks(cluster: Cluster, webhooks: Webhooks[Any] | WebhookApplication, where: Where) -> None:
    """Have a simulated cluster call these webhooks in process where it calls the Service of `where`.

    Their configurations come by other means, such as the manifests of an operator.
    """
    application = _application(webhooks)
    for path in application.paths:
        address = f"{where.namespace}/{where.service}{path}"
        cluster.webhooks.handle_bytes(address, partial(_answer, application, path))


def _application(webhooks: Webhooks[Any] | WebhookApplication) -> WebhookApplication:
    return webhooks if isinstance(webhooks, WebhookApplication) else WebhookApplication(webhooks)


def _answer(application: WebhookApplication, path: str, body: bytes) -> bytes:
    responding = application.respond("POST", path, body)
    try:
        responding.send(None)
    except StopIteration as ended:
        status, _, response = ended.value
        if status != _OK:
            raise WebhookError(status, response) from None
        found: bytes = response
        return found
    responding.close()
    raise RuntimeError(
        f"the handlers of {path} wait for something, which webhooks in process cannot: serve them on a port,"
        " by WebhookServer and kubeproto_serve.serve(cluster, webhooks=...)"
    )
