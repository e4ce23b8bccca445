"""What a URL and a method mean: which resource, object and verb; and the three kinds of 404.

A missing object is reported where it is looked up. The two others are distinguished here: a group, version or
path that does not exist gets plain text, a resource that a served group version does not have gets a Status.
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
from ..kinds._kinds import Kinds, Served
from ._query import Query, is_true

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# Subresources of a namespace share their place in the path with the resources inside it.
_OF_NAMESPACES: Final = ("status", "finalize")
_NO_NAMES: Final = ("", ".", "..")
_MOST_PATHS: Final = 1024  # that are remembered: those of some hundred kinds in some namespaces


class Route(Struct, frozen=True):
    """A request to a resource. `name` is empty for a collection; `watched` names one object to watch."""

    served: Served
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    everywhere: bool = False  # a namespaced resource without its namespace
    watched: str = ""


class Routes:
    """Finds routes, and remembers what the path of a collection means until other kinds are served."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._changes = kinds.changes
        # By method and path: the route of the first object there that was asked for, or of creating one.
        self._objects: dict[tuple[str, str], Route] = {}
        self._creations: dict[str, Route] = {}

    def find(self, method: str, path: str, query: Query) -> Route | list[str]:
        """Return the route of a request to a resource; for any other path its segments."""
        if (
            self._changes != self._kinds.changes
            or len(self._objects) + len(self._creations) >= _MOST_PATHS  # a client with many namespaces
        ):
            self._changes = self._kinds.changes
            self._objects.clear()
            self._creations.clear()
        collection, _, name = path.rpartition("/")
        if method == "POST":
            if (known := self._creations.get(path)) is not None:
                return known
        elif (known := self._objects.get((method, collection))) is not None and _is_name(name):
            return Route(known.served, known.verb, known.namespace, name, "", known.everywhere)
        found = find_route(self._kinds, method, path, query)
        if isinstance(found, Route) and not (found.subresource or found.watched):
            if name and found.name == name:  # a path may end in a slash behind it
                self._objects[method, collection] = found
            elif method == "POST" and name == found.served.plural:
                self._creations[path] = found
        return found


def find_route(kinds: Kinds, method: str, path: str, query: Query) -> Route | list[str]:
    """Return the route of a request to a resource; for any other path its segments."""
    if not path.startswith("/"):
        raise unknown_path()
    segments = path.removesuffix("/")[1:].split("/")
    if "" in segments and segments != [""]:
        raise unknown_path()
    if segments[0] == "api" and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return segments
    resources = kinds.by_version.get((group, version))
    if resources is None:
        raise unknown_version(kinds, group)
    watching = rest[0] == "watch" and len(rest) > 1
    if watching:
        rest = rest[1:]
    return _route(resources, method, rest, query, watching)


def unknown_version(kinds: Kinds, group: str) -> Exception:
    """Return the response for a version that is not served, which depends on what serves its group."""
    return unknown_resource() if kinds.has_own(group) else unknown_path()


def _route(resources: dict[str, Served], method: str, rest: list[str], query: Query, watching: bool) -> Route:
    namespace, inside = "", False
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _OF_NAMESPACES):
        namespace, inside, rest = rest[1], True, rest[2:]
    served = resources.get(rest[0])
    if served is None:
        raise unknown_path() if any(one.custom for one in resources.values()) else unknown_resource()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if served.custom:
        reads = method in ("GET", "HEAD") and not name
        if inside != served.namespaced and not (reads and served.namespaced):
            raise unknown_path()
    elif (inside and not served.namespaced) or (name and served.namespaced and not inside):
        raise unknown_resource()
    _check_name("Name", name)
    _check_name("Namespace", namespace)
    if subresource:
        return _subresource(served, method, namespace, name, rest[2:])
    everywhere = served.namespaced and not inside
    if watching:
        if method != "GET" or "watch" not in served.verbs:
            raise method_not_allowed()
        return Route(served, "watch", namespace, "", "", everywhere, watched=name)
    verb = _verb(served, method, name, everywhere, query)
    if served.custom and verb == "create":
        name = ""
    return Route(served, verb, namespace, name, "", everywhere)


def _verb(served: Served, method: str, name: str, everywhere: bool, query: Query) -> str:
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
        # A named GET is a plain get, whatever `watch` says.
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


def _without_objects(served: Served) -> bool:
    """Return whether this resource only answers questions, such as a review, and stores nothing."""
    return served.verbs == frozenset(("create",))


def _subresource(served: Served, method: str, namespace: str, name: str, rest: list[str]) -> Route:
    facts = served.subresources.get(rest[0])
    if served.custom and (facts is None or len(rest) > 1):
        raise not_found(served.plural, served.group, name)
    if facts is None or (len(rest) > 1 and rest[0] != "proxy"):
        raise unknown_resource()
    verb = _VERBS.get(method)
    if verb is None or verb not in facts.verbs:
        raise method_not_allowed()
    return Route(served, verb, namespace, name, rest[0])


def _is_name(name: str) -> bool:
    """Return whether the end of a path can be a name, as `_check_name` has it."""
    return name not in _NO_NAMES and "%" not in name


def _check_name(what: str, name: str) -> None:
    if name in (".", ".."):
        raise bad_request(f"{what} parameter invalid: \"{name}\": may not be '{name}'")
    if "%" in name:
        raise bad_request(f"{what} parameter invalid: \"{name}\": may not contain '%'")
