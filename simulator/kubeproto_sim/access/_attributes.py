"""What a request is about, as authorization sees it: read from its method and URL alone.

Authorization comes before anything else, so a request for a group, resource or object that does not exist
has attributes like any other, and a user who is not allowed to ask does not learn whether it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto.objects import FieldSelector

from .._rejections import Rejection, forbidden_for, quoted
from ..reading._query import Query, is_true, split_target

if TYPE_CHECKING:
    from kubeproto.wire import Head

_METHODS: Final = {
    "POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_SPECIAL: Final = ("proxy", "watch")
_OF_NAMESPACES: Final = ("status", "finalize")


class Attributes(Struct, frozen=True, kw_only=True):
    """What is requested: something about a resource, or a path such as ``/healthz``."""

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
    def combined(self) -> str:
        """The resource, with its subresource after a slash."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(head: Head) -> Attributes:
    """Return what a request is about, as a server's authorization sees it."""
    path, query = split_target(head.target)
    return read_attributes(head.method, path, query)


def read_attributes(method: str, path: str, query: Query) -> Attributes:
    """Return the attributes of a request."""
    inner = path.strip("/")
    parts = inner.split("/") if inner else []
    groupless = parts[:1] == ["api"]
    if len(parts) < (3 if groupless else 4) or parts[0] not in ("api", "apis"):
        return Attributes(verb=method.lower(), path=path, is_resource_request=False)
    group, version, rest = ("", parts[1], parts[2:]) if groupless else (parts[1], parts[2], parts[3:])
    special = rest[0] in _SPECIAL and len(rest) > 1
    verb = rest[0] if special else _METHODS.get(method, "")
    rest = rest[1:] if special else rest
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and not special else ""
    if not name and verb == "get":
        verb = "watch" if is_true(query.get("watch")) else "list"
        name = _selected_name(query.get("fieldSelector", ""))
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(
        verb=verb, group=group, version=version, resource=rest[0], subresource=subresource, name=name,
        namespace=namespace, path=path,
    )  # fmt: skip


def _selected_name(selector: str) -> str:
    """Return the name that a field selector requires, by which a rule with resourceNames can allow a list."""
    if "metadata.name" not in selector:
        return ""
    try:
        requirements = FieldSelector.parse(selector).requirements
    except ValueError:
        return ""
    for one in requirements:
        if one.path == "metadata.name" and one.operator == "=":
            return "" if one.value in (".", "..") or "/" in one.value or "%" in one.value else one.value
    return ""


def denied(attributes: Attributes, user: str, reason: str = "") -> Rejection:
    """403: the user may not do this."""
    if not attributes.is_resource_request:
        text = f"User {quoted(user)} cannot {attributes.verb} path {quoted(attributes.path)}"
    else:
        where = f"in the namespace {quoted(attributes.namespace)}"
        text = (
            f"User {quoted(user)} cannot {attributes.verb} resource {quoted(attributes.combined)} in API"
            f" group {quoted(attributes.group)} {where if attributes.namespace else 'at the cluster scope'}"
        )
    # A server escapes its errors so that they cannot be read as HTML.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    why = f"{text}: {reason}" if reason else text
    return forbidden_for(attributes.resource, attributes.group, attributes.name, why)
