"""Objects read and written without a request: what a test does to a cluster directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto import LocalProtocolError
from kubeproto.crd import CustomResourceDefinition, definition_of
from kubeproto.objects import KubeObject, encode

from ._state import ServerState
from .kinds._kinds import Served
from .reading._routes import Route
from .writing._edits import put, remove
from .writing._writes import Writer

_decode: Final = msgspec.json.Decoder().decode
Definition = type[KubeObject] | CustomResourceDefinition | dict[str, Any] | bytes


def served_as(state: ServerState, api_version: str, kind: str) -> Served:
    """Return how a kind is served; `LocalProtocolError` if it is not, because the test is wrong then."""
    served = state.kinds.of_kind(api_version, kind)
    if served is None:
        raise LocalProtocolError(
            f"the cluster does not serve {kind!r} of {api_version!r}: give its definition in crds="
        )
    return served


def served_kind(state: ServerState, kind: type[KubeObject] | str) -> Served:
    """Return how a kind is served, given its class or a string such as ``apps/v1/Deployment``."""
    if isinstance(kind, str):
        api_version, _, name = kind.rpartition("/")
        return served_as(state, api_version, name)
    return served_as(state, kind.resource.api_version, kind.resource.kind)


def ensure_namespace(state: ServerState, name: str) -> None:
    """Create a namespace, unless it exists."""
    if name not in served_as(state, "v1", "Namespace").storage.objects:
        put_object(state, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "test")


def put_object(state: ServerState, obj: KubeObject | dict[str, Any] | bytes, manager: str) -> dict[str, Any]:
    """Create an object, or replace it whatever its version, with its status; return it as it is stored."""
    found = _plain(obj)
    served = served_as(state, found.get("apiVersion", ""), found.get("kind", ""))
    meta: dict[str, Any] = found.setdefault("metadata", {})
    namespace = meta.setdefault("namespace", "default") if served.namespaced else ""
    if namespace:
        ensure_namespace(state, namespace)
    name: str = meta.get("name", "")
    status = found.get("status")
    stored = served.storage.objects.get(served.key(namespace, name))
    if stored is None:
        written = Writer(state, Route(served, "create", namespace, ""), {}, manager).create(found, [])
    else:
        meta["resourceVersion"] = str(stored.version)
        written = Writer(state, Route(served, "update", namespace, name), {}, manager).replace(found, [])
    made: dict[str, Any] = _decode(served.shown(written.data))
    if status is not None and served.has_status:
        made["status"] = status
        route = Route(served, "update", namespace, made["metadata"]["name"], "status")
        made = _decode(served.shown(Writer(state, route, {}, manager).replace(made, []).data))
    return made


def store_object(state: ServerState, obj: KubeObject | dict[str, Any] | bytes) -> None:
    """Store an object as it is, except for its resource version; one without a uid gets one."""
    found = _plain(obj)
    served = served_as(state, found.get("apiVersion", ""), found.get("kind", ""))
    meta: dict[str, Any] = found.setdefault("metadata", {})
    meta["uid"] = meta.get("uid") or state.rng.uid()
    namespace = meta.setdefault("namespace", "default") if served.namespaced else ""
    if namespace:
        ensure_namespace(state, namespace)
    put(state, served, served.key(namespace, meta.get("name", "")), _decode(served.kept(found)))


def put_definition(state: ServerState, definition: Definition) -> None:
    """Store the definition of a custom resource, which may be given as its class."""
    put_object(state, definition_of(definition) if isinstance(definition, type) else definition, "test")


def get_object(
    state: ServerState, kind: type[KubeObject] | str, name: str, namespace: str
) -> dict[str, Any] | None:
    """Return an object as it is stored; None if it does not exist."""
    served = served_kind(state, kind)
    stored = served.storage.objects.get(served.key(namespace, name))
    return None if stored is None else _decode(served.shown(stored.data))


def get_objects(state: ServerState, kind: type[KubeObject] | str) -> list[dict[str, Any]]:
    """Return all objects of a kind, in the order of a list."""
    served = served_kind(state, kind)
    found = [served.storage.objects[key] for key in served.storage.in_order()]
    return [_decode(served.shown(stored.data)) for stored in found]


def edit_object(
    state: ServerState, kind: type[KubeObject] | str, name: str, change: Callable[[dict[str, Any]], None],
    namespace: str,
) -> None:  # fmt: skip
    """Change an object in place, without the checks that a client's write passes."""
    served = served_kind(state, kind)
    key = served.key(namespace, name)
    obj = served.read(served.storage.objects[key].data)
    change(obj)
    put(state, served, key, _decode(served.kept(obj)))


def remove_object(state: ServerState, kind: type[KubeObject] | str, name: str, namespace: str) -> None:
    """Delete an object, whatever its finalizers."""
    served = served_kind(state, kind)
    remove(state, served, served.storage.objects[served.key(namespace, name)])


def _plain(obj: KubeObject | dict[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(obj, KubeObject):
        obj = encode(obj)
    found: dict[str, Any] = _decode(obj if isinstance(obj, bytes) else msgspec.json.encode(obj))
    return found
