"""Routes: the resource, object and verb of a method and a URL, or the 404 of the server.

There are three kinds of 404. A missing object is reported when it is read. Here, a group, version or path
that does not exist gets plain text, and a resource that a served version does not have gets a Status.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .._rejections import (
    bad_request,
    method_not_allowed,
    not_found,
    unknown_path,
    unknown_resource,
    verb_not_supported,
)
from ..kinds._kind_registry import KindRegistry
from ..kinds._served_kinds import ServedKind
from ._query import Query, is_true

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# In a path, these follow the name of a namespace, as resources inside the namespace do.
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_INVALID_NAMES: Final = ("", ".", "..")
_MAX_PATHS: Final = 1024  # cached paths: a few hundred kinds in several namespaces


class Route(Struct, frozen=True):
    """A request to a resource. `name` is empty for a collection; `watched` names one object to watch."""

    served: ServedKind
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    everywhere: bool = False  # a namespaced resource without its namespace
    watched: str = ""


class Routes:
    """Finds routes, and caches the route of each collection until other kinds are served."""

    def __init__(self, kinds: KindRegistry) -> None:
        self._kinds = kinds
        self._changes = kinds.changes
        # By method and path of the collection: the route of the first requested object, or of a creation.
        self._objects: dict[tuple[str, str], Route] = {}
        self._creations: dict[str, Route] = {}

    def find(self, method: str, path: str, query: Query) -> Route | list[str]:
        """Return the route of a request to a resource, or the segments of any other path."""
        if (
            self._changes != self._kinds.changes
            or len(self._objects) + len(self._creations) >= _MAX_PATHS  # a client with many namespaces
        ):
            self._changes = self._kinds.changes
            self._objects.clear()
            self._creations.clear()
        collection, _, name = path.rpartition("/")
        if method == "POST":
            if (creation := self._creations.get(path)) is not None:
                return creation
        elif (other := self._objects.get((method, collection))) is not None and _is_name(name):
            return Route(other.served, other.verb, other.namespace, name, "", other.everywhere)
        route = find_route(self._kinds, method, path, query)
        if isinstance(route, Route) and not (route.subresource or route.watched):
            if name and route.name == name:  # differs if the path has a trailing slash
                self._objects[method, collection] = route
            elif method == "POST" and name == route.served.plural:
                self._creations[path] = route
        return route


def find_route(kinds: KindRegistry, method: str, path: str, query: Query) -> Route | list[str]:
    """Return the route of a request to a resource, or the segments of any other path."""
    if not path.startswith("/"):
        raise unknown_path()
    segments = path.removesuffix("/")[1:].split("/")
    if "" in segments and segments != [""]:
        raise unknown_path()
    if segments[0] == "api" and len(segments) > 2:
        group, version, resource_segments = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, resource_segments = segments[1], segments[2], segments[3:]
    else:
        return segments
    resources = kinds.by_version.get((group, version))
    if resources is None:
        raise unknown_version(kinds, group)
    watching = resource_segments[0] == "watch" and len(resource_segments) > 1
    if watching:
        resource_segments = resource_segments[1:]
    return _route(resources, method, resource_segments, query, watching)


def unknown_version(kinds: KindRegistry, group: str) -> Exception:
    """Return the 404 for a version that is not served; it depends on whether the group is built in."""
    return unknown_resource() if kinds.is_builtin_group(group) else unknown_path()


def _route(
    resources: dict[str, ServedKind], method: str, segments: list[str], query: Query, watching: bool
) -> Route:
    namespace, in_namespace = "", False
    if (
        segments[0] == "namespaces"
        and len(segments) > 2
        and not (len(segments) == 3 and segments[2] in _NAMESPACE_SUBRESOURCES)
    ):
        namespace, in_namespace, segments = segments[1], True, segments[2:]
    served = resources.get(segments[0])
    if served is None:
        custom = any(other.custom for other in resources.values())
        raise unknown_path() if custom else unknown_resource()
    name = segments[1] if len(segments) > 1 else ""
    subresource = segments[2] if len(segments) > 2 else ""
    if served.custom:
        reads = method in ("GET", "HEAD") and not name
        if in_namespace != served.namespaced and not (reads and served.namespaced):
            raise unknown_path()
    elif (in_namespace and not served.namespaced) or (name and served.namespaced and not in_namespace):
        raise unknown_resource()
    _check_name("Name", name)
    _check_name("Namespace", namespace)
    if subresource:
        return _subresource(served, method, namespace, name, segments[2:])
    everywhere = served.namespaced and not in_namespace
    if watching:
        if method != "GET" or "watch" not in served.verbs:
            raise method_not_allowed()
        return Route(served, "watch", namespace, "", "", everywhere, watched=name)
    verb = _verb(served, method, name, everywhere, query)
    if served.custom and verb == "create":
        name = ""
    return Route(served, verb, namespace, name, "", everywhere)


def _verb(served: ServedKind, method: str, name: str, everywhere: bool, query: Query) -> str:
    verb = _VERBS.get(method)
    if served.custom and verb is None:
        if method != "HEAD":
            raise verb_not_supported(served.plural, served.group)
        verb = "get"
    if verb is None:
        raise method_not_allowed()
    if served.custom and name and verb == "create":
        return verb  # the name in the path does not count
    if served.custom and not name and verb in ("update", "patch"):
        raise bad_request("name must be provided")
    if name:
        # A GET of one object is a plain get, even with `watch`.
        if verb == "create":
            raise method_not_allowed()
    elif verb == "get":
        verb = "watch" if is_true(query.get("watch")) else "list"
    elif verb == "delete":
        verb = "deletecollection"
    elif verb != "create":
        raise method_not_allowed()
    writes_everywhere = everywhere and verb in ("create", "deletecollection")
    if verb not in served.verbs or (writes_everywhere and not _without_objects(served)):
        raise method_not_allowed()
    return verb


def _without_objects(served: ServedKind) -> bool:
    """Return whether this resource stores no objects, such as a review."""
    return served.verbs == frozenset(("create",))


def _subresource(served: ServedKind, method: str, namespace: str, name: str, segments: list[str]) -> Route:
    subresource = served.subresources.get(segments[0])
    if served.custom and (subresource is None or len(segments) > 1):
        raise not_found(served.plural, served.group, name)
    if subresource is None or (len(segments) > 1 and segments[0] != "proxy"):
        raise unknown_resource()
    verb = _VERBS.get(method)
    if verb is None or verb not in subresource.verbs:
        raise method_not_allowed()
    return Route(served, verb, namespace, name, segments[0])


def _is_name(name: str) -> bool:
    """Return whether `_check_name` accepts the last segment of a path."""
    return name not in _INVALID_NAMES and "%" not in name


def _check_name(parameter: str, name: str) -> None:
    if name in (".", ".."):
        raise bad_request(f"{parameter} parameter invalid: \"{name}\": may not be '{name}'")
    if "%" in name:
        raise bad_request(f"{parameter} parameter invalid: \"{name}\": may not contain '%'")
