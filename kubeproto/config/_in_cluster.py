"""What a pod is given to reach its server: two variables, and the files of its service account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._files import UnreadableFile

TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"
CA: Final = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
NAMESPACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


def server_of_pod(environ: Mapping[str, str]) -> str:
    """Return the URL of the server, or "" if this is not a pod."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def namespace_of_pod(environ: Mapping[str, str], content: bytes | UnreadableFile) -> str:
    """Return the namespace of the pod, or "default": the variable comes before the file."""
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"]
    text = b"" if isinstance(content, UnreadableFile) else content.strip()
    return text.decode("ascii", "replace") or "default"
