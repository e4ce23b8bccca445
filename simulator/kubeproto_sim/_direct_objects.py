"""Reads and writes of objects without a request, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto import LocalProtocolError
from kubeproto.crd import CustomResourceDefinition, definition_of
from kubeproto.objects import KubeObject, encode

from ._state import ServerState
from .kinds._served_kinds import ServedKind
from .reading._routes import Route
from .writing._object_writer import Writer
from .writing._server_writes import put, remove

_decode: Final = msgspec.json.Decoder().decode
Definition = type[KubeObject] | CustomResourceDefinition | dict[str, Any] | bytes


def served_as(state: ServerState, api_version: str, kind: str) -> ServedKind:
    """Return the served kind; raise `LocalProtocolError` if the cluster does not serve it."""
    served = state.kinds.of_kind(api_version, kind)
    if served is None:
        raise LocalProtocolError(
            f"the cluster does not serve {kind!r} of {api_version!r}: pass its definition in crds="
        )
    return served


def served_kind(state: ServerState, kind: type[KubeObject] | str) -> ServedKind:
    """Return the served kind of a class or of a string such as ``apps/v1/Deployment``."""
    if isinstance(kind, str):
        api_version, _, name = kind.rpartition("/")
        return served_as(state, api_version, name)
    return served_as(state, kind.resource.api_version, kind.resource.kind)


def ensure_namespace(state: ServerState, name: str) -> None:
    """Create a namespace, unless it exists."""
    if name not in served_as(state, "v1", "Namespace").storage.objects:
        put_object(state, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "test")


def put_object(state: ServerState, obj: KubeObject | dict[str, Any] | bytes, manager: str) -> dict[str, Any]:
    """Create an object, or replace it regardless of its version, with its status; return the result."""
    content = _as_dict(obj)
    served = served_as(state, content.get("apiVersion", ""), content.get("kind", ""))
    meta: dict[str, Any] = content.setdefault("metadata", {})
    namespace = meta.setdefault("namespace", "default") if served.namespaced else ""
    if namespace:
        ensure_namespace(state, namespace)
    name: str = meta.get("name", "")
    status = content.get("status")
    stored = served.storage.objects.get(served.key(namespace, name))
    if stored is None:
        written = Writer(state, Route(served, "create", namespace, ""), {}, manager).create(content, [])
    else:
        meta["resourceVersion"] = str(stored.version)
        written = Writer(state, Route(served, "update", namespace, name), {}, manager).replace(content, [])
    created: dict[str, Any] = _decode(served.encode_response(written.data))
    if status is not None and served.has_status:
        created["status"] = status
        route = Route(served, "update", namespace, created["metadata"]["name"], "status")
        created = _decode(served.encode_response(Writer(state, route, {}, manager).replace(created, []).data))
    return created


def store_object(state: ServerState, obj: KubeObject | dict[str, Any] | bytes) -> None:
    """Store an object unchanged, except for its resource version, and its uid if it has none."""
    content = _as_dict(obj)
    served = served_as(state, content.get("apiVersion", ""), content.get("kind", ""))
    meta: dict[str, Any] = content.setdefault("metadata", {})
    meta["uid"] = meta.get("uid") or state.rng.uid()
    namespace = meta.setdefault("namespace", "default") if served.namespaced else ""
    if namespace:
        ensure_namespace(state, namespace)
    put(state, served, served.key(namespace, meta.get("name", "")), _decode(served.encode_stored(content)))


def put_definition(state: ServerState, definition: Definition) -> None:
    """Store the definition of a custom resource; a class stands for its definition."""
    put_object(state, definition_of(definition) if isinstance(definition, type) else definition, "test")


def get_object(
    state: ServerState, kind: type[KubeObject] | str, name: str, namespace: str
) -> dict[str, Any] | None:
    """Return a stored object; None if it does not exist."""
    served = served_kind(state, kind)
    stored = served.storage.objects.get(served.key(namespace, name))
    return None if stored is None else _decode(served.encode_response(stored.data))


def get_objects(state: ServerState, kind: type[KubeObject] | str) -> list[dict[str, Any]]:
    """Return all objects of a kind, in the order of a list."""
    served = served_kind(state, kind)
    stored_objects = [served.storage.objects[key] for key in served.storage.sorted_keys()]
    return [_decode(served.encode_response(stored.data)) for stored in stored_objects]


def edit_object(
    state: ServerState, kind: type[KubeObject] | str, name: str, change: Callable[[dict[str, Any]], None],
    namespace: str,
) -> None:  # fmt: skip
    """Change an object in place, without the checks of a client's write."""
    served = served_kind(state, kind)
    key = served.key(namespace, name)
    obj = served.read(served.storage.objects[key].data)
    change(obj)
    put(state, served, key, _decode(served.encode_stored(obj)))


def remove_object(state: ServerState, kind: type[KubeObject] | str, name: str, namespace: str) -> None:
    """Delete an object, despite its finalizers."""
    served = served_kind(state, kind)
    remove(state, served, served.storage.objects[served.key(namespace, name)])


def _as_dict(obj: KubeObject | dict[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(obj, KubeObject):
        obj = encode(obj)
    content: dict[str, Any] = _decode(obj if isinstance(obj, bytes) else msgspec.json.encode(obj))
    return content
