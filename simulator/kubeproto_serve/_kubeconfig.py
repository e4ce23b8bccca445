"""The kubeconfig for a server, as JSON: that is YAML, too, and every client reads it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from ._security import Security

_NAME: Final = "kubeproto"


def kubeconfig(url: str, security: Security) -> str:
    """A kubeconfig with one context, which is the current one."""
    cluster: dict[str, Any] = {"server": url}
    if security.authority:
        cluster["certificate-authority-data"] = _data(security.authority)
    user: dict[str, Any] = {}
    if security.tokens:
        user["token"] = next(iter(security.tokens))
    elif security.client is not None:
        user["client-certificate-data"] = _data(security.client.certificate)
        user["client-key-data"] = _data(security.client.key)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
        "current-context": _NAME,
    }
    return msgspec.json.format(msgspec.json.encode(config), indent=2).decode() + "\n"


def _data(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
