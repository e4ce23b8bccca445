"""Shared helpers of the tests of server-side apply: a writer and its write in a single call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubeproto.objects import GroupVersionKind
from kubeproto_sim.apply import (
    AppliedObject,
    Conflicts,
    MergeSchema,
    apply,
    merge_schema_of_kind,
    merge_schema_of_openapi,
    update,
)

Object = dict[str, Any]

CONFIG_MAP = merge_schema_of_kind(GroupVersionKind("", "v1", "ConfigMap"))
POD = merge_schema_of_kind(GroupVersionKind("", "v1", "Pod"))
SERVICE = merge_schema_of_kind(GroupVersionKind("", "v1", "Service"))
DEPLOYMENT = merge_schema_of_kind(GroupVersionKind("apps", "v1", "Deployment"))

FOO_SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "color": {"type": "string"},
                "size": {"type": "integer"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "words": {"type": "array", "items": {"type": "string"}},
                "place": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                },
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                        },
                    },
                },
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "properties": {"note": {"type": "string"}}},
    },
}
FOO = merge_schema_of_openapi(FOO_SCHEMA)

NOW = "2026-11-21T01:48:05Z"
LATER = "2026-11-21T01:49:05Z"

RECORDINGS = Path(__file__).parent.parent / "recordings"


def recorded(name: str) -> tuple[Object, Object]:
    """Return the request body and the response body of a recording."""
    exchange = json.loads((RECORDINGS / f"{name}.json").read_text())
    body = exchange["request"].get("body")
    return json.loads(body) if body else {}, json.loads(exchange["response"]["body"])


def config_map(**data: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ap"}, "data": data}


def foo(**spec: Any) -> Object:
    return {"apiVersion": "wire.test/v1", "kind": "Foo", "metadata": {"name": "f"}, "spec": spec}


def try_apply(
    live: Object | None,
    body: Object,
    manager: str = "m1",
    *,
    schema: MergeSchema | None = None,
    force: bool = False,
    now: str = NOW,
    subresource: str = "",
) -> AppliedObject | Conflicts:
    return apply(
        live,
        body,
        manager=manager,
        schema=schema or (FOO if body["kind"] == "Foo" else CONFIG_MAP),
        api_version=body["apiVersion"],
        kind=body["kind"],
        now=now,
        force=force,
        subresource=subresource,
    )


def apply_successfully(live: Object | None, body: Object, manager: str = "m1", **options: Any) -> Object:
    """Return the object after a successful apply."""
    outcome = try_apply(live, body, manager, **options)
    assert isinstance(outcome, AppliedObject), outcome
    return outcome.object


def conflicts_of(live: Object | None, body: Object, manager: str, **options: Any) -> Conflicts:
    """Return the conflicts of a refused apply."""
    outcome = try_apply(live, body, manager, **options)
    assert isinstance(outcome, Conflicts), outcome
    return outcome


def write_object(
    previous: Object | None,
    new_object: Object,
    manager: str = "wire",
    *,
    now: str = NOW,
    schema: MergeSchema | None = None,
    api_version: str = "",
    subresource: str = "",
) -> Object:
    """Return the object after an ordinary write, with its new managed fields."""
    entries = update(
        previous,
        new_object,
        manager=manager,
        schema=schema or (FOO if new_object["kind"] == "Foo" else CONFIG_MAP),
        api_version=api_version or new_object["apiVersion"],
        now=now,
        subresource=subresource,
    )
    metadata = {name: value for name, value in new_object["metadata"].items() if name != "managedFields"}
    return {**new_object, "metadata": metadata | ({"managedFields": entries} if entries else {})}


def owners(object_: Object) -> dict[str, Any]:
    """Return the fields of each manager; a key contains the subresource if there is one."""
    return {
        "/".join(filter(None, (entry["manager"], entry.get("subresource")))): entry["fieldsV1"]
        for entry in object_["metadata"].get("managedFields", ())
    }


def times(object_: Object) -> dict[str, str]:
    return {entry["manager"]: entry["time"] for entry in object_["metadata"]["managedFields"]}
