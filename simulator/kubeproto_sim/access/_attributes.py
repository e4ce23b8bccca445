"""`Attributes`: the content of a request for authorization, from its method and URL.

Authorization is the first check. So a request for a missing group, resource or object also has attributes,
and a user without the permission does not learn whether it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto.objects import FieldSelector

from .._rejections import Rejection, forbidden_for
from ..reading._query import Query, is_true, split_target
from ..storage._json_values import quoted

if TYPE_CHECKING:
    from kubeproto.wire import RawRequest

_METHODS: Final = {
    "POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_SPECIAL_PREFIXES: Final = ("proxy", "watch")
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")


class Attributes(Struct, frozen=True, kw_only=True):
    """The attributes of a request: for a resource, or for a path such as ``/healthz``."""

    verb: str
    group: str = ""
    version: str = "*"
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""
    is_resource_request: bool = True

    @property
    def resource_path(self) -> str:
        """The resource, with its subresource after a slash."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(request: RawRequest) -> Attributes:
    """Return the attributes of a request, as a server authorizes it."""
    path, query = split_target(request.target)
    return read_attributes(request.method, path, query)


def read_attributes(method: str, path: str, query: Query) -> Attributes:
    """Return the attributes of a request."""
    trimmed_path = path.strip("/")
    parts = trimmed_path.split("/") if trimmed_path else []
    is_core = parts[:1] == ["api"]
    if len(parts) < (3 if is_core else 4) or parts[0] not in ("api", "apis"):
        return Attributes(verb=method.lower(), path=path, is_resource_request=False)
    group, version, segments = ("", parts[1], parts[2:]) if is_core else (parts[1], parts[2], parts[3:])
    is_special = segments[0] in _SPECIAL_PREFIXES and len(segments) > 1
    verb = segments[0] if is_special else _METHODS.get(method, "")
    segments = segments[1:] if is_special else segments
    namespace = ""
    if segments[0] == "namespaces" and len(segments) > 1:
        namespace = segments[1]
        if len(segments) > 2 and segments[2] not in _NAMESPACE_SUBRESOURCES:
            segments = segments[2:]
    name = segments[1] if len(segments) > 1 else ""
    subresource = segments[2] if len(segments) > 2 and not is_special else ""
    if not name and verb == "get":
        verb = "watch" if is_true(query.get("watch")) else "list"
        name = _selected_name(query.get("fieldSelector", ""))
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(
        verb=verb, group=group, version=version, resource=segments[0], subresource=subresource, name=name,
        namespace=namespace, path=path,
    )  # fmt: skip


def _selected_name(selector: str) -> str:
    """Return the name that a field selector requires: a rule with resourceNames can allow such a list."""
    if "metadata.name" not in selector:
        return ""
    try:
        requirements = FieldSelector.parse(selector).requirements
    except ValueError:
        return ""
    for requirement in requirements:
        if requirement.path == "metadata.name" and requirement.operator == "=":
            return (
                ""
                if requirement.value in (".", "..") or "/" in requirement.value or "%" in requirement.value
                else requirement.value
            )
    return ""


def denied(attributes: Attributes, user: str, reason: str = "") -> Rejection:
    """403: the user may not do this."""
    if not attributes.is_resource_request:
        text = f"User {quoted(user)} cannot {attributes.verb} path {quoted(attributes.path)}"
    else:
        scope = f"in the namespace {quoted(attributes.namespace)}"
        text = (
            f"User {quoted(user)} cannot {attributes.verb} resource {quoted(attributes.resource_path)} in API"
            f" group {quoted(attributes.group)} {scope if attributes.namespace else 'at the cluster scope'}"
        )
    # A server escapes its errors so that they cannot be read as HTML.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    message = f"{text}: {reason}" if reason else text
    return forbidden_for(attributes.resource, attributes.group, attributes.name, message)
