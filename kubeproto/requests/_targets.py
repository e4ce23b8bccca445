"""The path and query of a request, which nothing that a caller passes can redirect.

Targets begin with `/api` or `/apis` (or another root of the server's own); the base path that a server may
have is put before them by the connection.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, get_args, get_origin

from msgspec import Struct, structs

from .._errors import InvalidRequest
from ..objects import Dynamic, KubeObject, Metadata, Resource, check_path_segment

# Pairs in the order in which they are sent.
Query: TypeAlias = tuple[tuple[str, str], ...]

# RFC 3986's unreserved characters, and the colon, which is common in names of RBAC and harmless in a path.
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")
_ENCODED: Final = tuple(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in range(256))


def percent_encoded(text: str) -> str:
    """Return the text with every byte escaped that could mean something in a path or query."""
    if text.isascii() and text.isalnum():
        return text
    try:
        return "".join([_ENCODED[byte] for byte in text.encode()])
    except UnicodeEncodeError:
        raise InvalidRequest(f"{text!r} is not a text: it holds half of a surrogate pair") from None


def segment(what: str, text: str) -> str:
    """Return one segment of a path; refused if the server would read another path than the intended one."""
    try:
        check_path_segment(text)
    except ValueError as error:
        raise InvalidRequest(f"{what}: {error}") from None
    if not text.isprintable():
        raise InvalidRequest(f"{what}: {text!r} holds a character that cannot be printed")
    return percent_encoded(text)


def given(*parameters: tuple[str, str | int | None]) -> Query:
    """Return the parameters that are set: None, "" and False are not, a number is, even 0."""
    return tuple(
        (key, "true" if value is True else str(value))
        for key, value in parameters
        if value is not None and value is not False and value != ""
    )


def target(path: str, query: Query = ()) -> str:
    """Return a path with its query."""
    said = "&".join([f"{key}={percent_encoded(value)}" for key, value in query])
    return f"{path}?{said}" if said else path


class AllNamespaces:
    """The type of `ALL`: a namespaced kind, in every namespace."""

    def __repr__(self) -> str:
        return "ALL"


ALL: Final = AllNamespaces()


class Target(Struct, frozen=True):
    """Where objects of one kind are found. `namespace` is empty for a cluster-scoped kind, and for `ALL`."""

    resource: Resource
    namespace: str
    root: str  # /apis/GROUP/VERSION[/namespaces/NAMESPACE]/PLURAL

    @staticmethod
    def of(resource: Resource, namespace: str | AllNamespaces) -> Target:
        """Return the place of a kind in one namespace (``default`` if none is given) or in all."""
        if not resource.namespaced and namespace:
            raise InvalidRequest(f"{resource.kind} is cluster-scoped: it lives in no namespace")
        version = segment(f"the version of {resource.kind}", resource.version)
        root = f"/api/{version}"
        if resource.group:
            root = f"/apis/{segment(f'the group of {resource.kind}', resource.group)}/{version}"
        name = ""
        if resource.namespaced and isinstance(namespace, str):
            name = namespace or "default"
            root += f"/namespaces/{segment('namespace', name)}"
        return Target(resource, name, f"{root}/{segment(f'the plural of {resource.kind}', resource.plural)}")

    @property
    def everywhere(self) -> bool:
        """True for a namespaced kind in all namespaces."""
        return self.resource.namespaced and not self.namespace

    def collection(self, query: Query = ()) -> str:
        """Return the target of the collection."""
        return target(self.root, query)

    def member(self, name: str, subresource: str = "", query: Query = ()) -> str:
        """Return the target of one object, or of a subresource of it."""
        self.check_one_namespace()
        path = f"{self.root}/{segment(f'the name of a {self.resource.kind}', name)}"
        if subresource:
            path += f"/{segment('subresource', subresource)}"
        return target(path, query)

    def check_one_namespace(self) -> None:
        """Refuse what a server does in one namespace only."""
        if self.everywhere:
            raise InvalidRequest(
                f"in all namespaces there is only list and watch: Api({self.resource.kind}, namespace=…)"
                " names the one that is meant"
            )

    def check_namespace_of(self, namespace: str) -> None:
        """Refuse an object that names another namespace."""
        if namespace and namespace != self.namespace:
            here = f"namespace {self.namespace!r}" if self.namespace else "no namespace"
            raise InvalidRequest(
                f"the {self.resource.kind} says that it is in namespace {namespace!r}, this Api is for {here}"
            )


def resource_of(kind: type[KubeObject]) -> Resource:
    """Return the resource of a class; `Metadata[Book]` counts as Book."""
    if get_origin(kind) is Metadata:
        return resource_of(get_args(kind)[0])
    check_kind(kind)
    if issubclass(kind, Dynamic | Metadata) or kind.abstract:
        raise InvalidRequest(f"Api({kind.__name__}) needs to know its kind: say resource=…")
    return kind.resource


def check_kind(kind: object) -> None:
    """Refuse what is not the class of a kind, and say what was probably meant."""
    if isinstance(kind, type) and issubclass(kind, KubeObject):
        return
    if isinstance(kind, str):
        raise InvalidRequest(
            f"{kind!r} is the name of a kind, where its class is wanted: client.resource({kind!r}) finds a"
            " kind by its name, and Api(kp.Dynamic, resource=…) takes any"
        )
    name = kind.__name__ if isinstance(kind, type) else repr(kind)
    if isinstance(kind, KubeObject):
        raise InvalidRequest(f"this is an object, where its class is wanted: Api({type(kind).__name__})")
    raise InvalidRequest(
        f"{name} is not a kind: it has no apiVersion and kind. Pass the class that has it as its spec, class"
        f' Book(kp.Object[{name}, None], group="…", version="v1")'
    )


def written_as(kind: type[KubeObject]) -> Resource:
    """Return the same for a kind without an address, which is only written below another, such as a Scale."""
    if not kind.abstract:
        return resource_of(kind)
    own: dict[str, Any] = {field.name: field.default_factory for field in structs.fields(kind)}
    if not (callable(own["kind"]) and callable(own["api_version"])):
        raise InvalidRequest(f"{kind.__name__} does not say what kind it is")
    group, _, version = str(own["api_version"]()).rpartition("/")
    return Resource(group, version, str(own["kind"]()), "")
