"""The path and query of a request; no argument of a caller can change the path.

Targets begin with `/api` or `/apis`, or another root of the server. The connection prefixes the base path
that a server may have.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from .._errors import InvalidRequest
from ..objects import Resource, check_path_segment

# Names and values, in the order in which they are sent.
Query: TypeAlias = tuple[tuple[str, str], ...]

# RFC 3986's unreserved characters, and the colon, which is common in names of RBAC and harmless in a path.
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")
_ENCODED: Final = tuple(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256))


def percent_encode(text: str) -> str:
    """Return the text with every byte escaped that has a meaning in a path or query."""
    if text.isascii() and text.isalnum():
        return text
    try:
        return "".join([_ENCODED[byte] for byte in text.encode()])
    except UnicodeEncodeError:
        raise InvalidRequest(f"{text!r} is not valid Unicode: it has half of a surrogate pair") from None


def encode_segment(name: str, text: str) -> str:
    """Return a segment of a path. Refuse a text that would change the path; `name` describes it in errors."""
    try:
        check_path_segment(text)
    except ValueError as error:
        raise InvalidRequest(f"{name}: {error}") from None
    if not text.isprintable():
        raise InvalidRequest(f"{name}: {text!r} has a character that is not printable")
    return percent_encode(text)


def make_query(*parameters: tuple[str, str | int | None]) -> Query:
    """Return the parameters that are set: all except None, "" and False."""
    return tuple(
        (key, "true" if value is True else str(value))
        for key, value in parameters
        if value is not None and value is not False and value != ""
    )


def make_target(path: str, query: Query = ()) -> str:
    """Return a path with its query."""
    query_string = "&".join([f"{key}={percent_encode(value)}" for key, value in query])
    return f"{path}?{query_string}" if query_string else path


class AllNamespaces:
    """The type of `ALL`: a namespaced kind, in every namespace."""

    def __repr__(self) -> str:
        return "ALL"


ALL: Final = AllNamespaces()


class Target(Struct, frozen=True):
    """The path to the objects of a kind. `namespace` is "" for a cluster-scoped kind, and for `ALL`."""

    resource: Resource
    namespace: str
    root: str  # /apis/GROUP/VERSION[/namespaces/NAMESPACE]/PLURAL

    @staticmethod
    def of(resource: Resource, namespace: str | AllNamespaces) -> Target:
        """Return the target of a kind in a namespace (``default`` if it is "") or in all namespaces."""
        kind = resource.kind
        if not resource.namespaced and namespace:
            raise InvalidRequest(f"{kind} is cluster-scoped: omit the namespace {namespace!r}")
        version = encode_segment(f"the version of {kind}", resource.version)
        root = f"/api/{version}"
        if resource.group:
            root = f"/apis/{encode_segment(f'the group of {kind}', resource.group)}/{version}"
        name = ""
        if resource.namespaced and isinstance(namespace, str):
            name = namespace or "default"
            root += f"/namespaces/{encode_segment('namespace', name)}"
        return Target(resource, name, f"{root}/{encode_segment(f'the plural of {kind}', resource.plural)}")

    @property
    def all_namespaces(self) -> bool:
        """Whether this is a namespaced kind in all namespaces."""
        return self.resource.namespaced and not self.namespace

    def collection(self, query: Query = ()) -> str:
        """Return the target of the collection."""
        return make_target(self.root, query)

    def member(self, name: str, subresource: str = "", query: Query = ()) -> str:
        """Return the target of an object, or of its subresource."""
        self.require_namespace()
        path = f"{self.root}/{encode_segment(f'the name of a {self.resource.kind}', name)}"
        if subresource:
            path += f"/{encode_segment('subresource', subresource)}"
        return make_target(path, query)

    def require_namespace(self) -> None:
        """Refuse a request that servers support in a single namespace only."""
        if self.all_namespaces:
            raise InvalidRequest(
                f"all namespaces support only list and watch: use Api({self.resource.kind}, namespace=…)"
            )

    def check_namespace_of(self, namespace: str) -> None:
        """Refuse an object of another namespace."""
        if namespace and namespace != self.namespace:
            scope = f"namespace {self.namespace!r}" if self.namespace else "no namespace"
            raise InvalidRequest(
                f"the {self.resource.kind} is in namespace {namespace!r}, and this Api is for {scope}"
            )
