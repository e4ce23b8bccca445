"""Requests drawn from bytes: objects that fit, objects of any JSON, patches, unusual queries and unusual
paths.

The same bytes draw the same requests, so that a fuzzer can guide them and a failure can be stored.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import kubeproto_sim as sim
from kubeproto.kinds import kind_table
from kubeproto.objects import is_object
from kubeproto.wire import RawRequest

T = TypeVar("T")

METHODS: Final = (*("POST",) * 12, *("PUT",) * 3, *("PATCH",) * 8, *("GET",) * 4, "DELETE", "HEAD", "FOO")
NAMES: Final = ("a", "a", "a", "b", "b", "default", "A_b", "")
LEAVES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**40, 1.5, -0.0, 1e300, "", "a", "b", "ä", "\x00", "50%",
    "2026-01-01T00:00:00Z", "9999-99-99T00:00:00Z", "100m", "1e999", "a.b/c", "*/5 * * * *", "x" * 300,
    [], {}, [None], {"a": None}, [[]], [{}], {"": {}},
)  # fmt: skip
MEDIA: Final = (
    "application/json", "application/merge-patch+json", "application/json-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/yaml",
    "application/vnd.kubernetes.protobuf", "", "text/plain",
)  # fmt: skip
QUERIES: Final = (
    "", "", "", "", "dryRun=All", "fieldManager=m", "fieldManager=m&force=true", "fieldValidation=Strict",
    "fieldValidation=Ignore", "watch=1", "watch=true&resourceVersion=1", "limit=1", "limit=x",
    "continue=abc", "continue=e30", "resourceVersion=0", "resourceVersion=999999999999999999999999",
    "resourceVersion=5&resourceVersionMatch=Exact", "sendInitialEvents=true",
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1",
    "labelSelector=a%3Db", "labelSelector=%00", "fieldSelector=metadata.name%3Da", "fieldSelector=,",
    "fieldSelector=status.phase%3Da", "timeoutSeconds=x", "timeoutSeconds=-9", "timeout=1s", "timeout=%2B",
    "gracePeriodSeconds=x", "propagationPolicy=Foreground", "propagationPolicy=Orphan",
    "orphanDependents=1", "pretty=1", "includeObject=x", "%zz", "a=%ff", "shardSelector=a",
)  # fmt: skip
ACCEPTS: Final = (
    "", "", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "text/html", ";;,", "*/*",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)  # fmt: skip
PATHS: Final = (
    "", "/", "/metadata", "/metadata/labels", "/metadata/labels/a", "/metadata/finalizers/-", "/spec",
    "/spec/replicas", "/spec/template/spec/containers/0", "/spec/x", "/data", "/kind", "/apiVersion", "a",
    "/metadata/finalizers/99999999999999999999", "/metadata/managedFields", "/status", "/~", "/spec/ports/-1",
)  # fmt: skip
OTHER_TARGETS: Final = (
    "/", "/api", "/apis", "/version", "/healthz", "/openapi/v3", "/openapi/v2", "/apis/apps", "/apis/x",
    "/api/v1/x", "//", "", "x", "/api/v1/namespaces/%2f/pods", "/api/v1/watch/pods", "/%", "/%00",
    "/api/v1/namespaces/default/pods/a/proxy/x", "/readyz", "/metrics", "/apis/apps/v1/", "/?x", "?", "#",
)  # fmt: skip
SUBRESOURCES: Final = ("status", "scale", "eviction", "binding", "token", "finalize", "log", "resize", "x")
DEFINITION_NAMES: Final = ("books.example.com", "books.example.com", "bad")


class Draw:
    """Takes choices from bytes; when they are used up, each choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def has_data(self) -> bool:
        """Return whether there are bytes left."""
        return self._position < len(self._data)

    def number(self, bound: int) -> int:
        """Return a number from 0 to below `below`."""
        chunk = self._data[self._position : self._position + 2]
        self._position += 2
        return int.from_bytes(chunk, "big") % bound

    def pick(self, choices: Sequence[T]) -> T:
        """Return an element of the sequence."""
        return choices[self.number(len(choices))]


def value(draw: Draw, depth: int = 3) -> Any:
    """Draw any JSON value."""
    match draw.number(4) if depth else 0:
        case 1:
            return [value(draw, depth - 1) for _ in range(draw.number(3))]
        case 2:
            return {draw.pick(("a", "name", "kind", "spec", "")): value(draw, depth - 1)}
        case _:
            return copy.deepcopy(draw.pick(LEAVES))


def typed(draw: Draw, type_: str, depth: int = 5) -> Any:
    """Draw an object of a type of the table, with some of its fields, and a few values of other types."""
    type_facts = kind_table().types.get(type_)
    if type_facts is None or not depth or draw.number(24) == 1:
        return value(draw)
    fields = list(type_facts.fields.items())
    obj: dict[str, Any] = {}
    for _ in range(draw.number(5)):
        if not fields:
            break
        name, field = draw.pick(fields)
        member = _leaf(draw, field.type, depth - 1)
        for form in field.form:
            member = [member] if form == "list" else {draw.pick(("a", "b", "A b")): member}
        obj[name] = member
    return obj


def _leaf(draw: Draw, type_: str, depth: int) -> Any:
    if "." in type_:
        return typed(draw, type_, depth)
    match type_:
        case _ if draw.number(12) == 1:
            return value(draw)
        case "integer":
            return draw.pick((0, 1, 5, -1, 2**31, 2**70))
        case "boolean":
            return draw.number(2) == 1
        case "string":
            return draw.pick(("a", "b", "", "TCP", "Always", "A b", "<&>", "x" * 64))
        case _:
            return copy.deepcopy(draw.pick(LEAVES))


def definition(draw: Draw) -> dict[str, Any]:
    """Draw a definition, mostly with an unusual part."""
    version: dict[str, Any] = {
        "name": draw.pick(("v1", "v2", "", None, "V_1")), "served": draw.pick((True, False, None)),
        "storage": draw.pick((True, False, "x")),
        "schema": draw.pick((
            {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            {"openAPIV3Schema": {"type": "object", "properties": {"spec": value(draw)}}}, {}, None,
            {"openAPIV3Schema": value(draw)},
        )),
        "subresources": draw.pick((dict[str, Any](status={}), None, {"scale": value(draw)}, value(draw))),
        "additionalPrinterColumns": draw.pick((
            None, [{"name": "A", "type": "integer", "jsonPath": ".spec.a"}],
            [{"name": "A", "type": value(draw), "jsonPath": value(draw)}],
        )),
        "selectableFields": draw.pick((None, [{"jsonPath": value(draw)}])),
    }  # fmt: skip
    versions = [version] * draw.number(3) if draw.number(3) else value(draw)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": draw.pick(DEFINITION_NAMES)},
        "spec": {
            "group": draw.pick(("example.com", "example.com", "", "bad", None)),
            "names": draw.pick(
                ({"plural": "books", "kind": "Book"}, {"plural": "books", "kind": "Book"}, value(draw))
            ),
            "scope": draw.pick(("Namespaced", "Cluster", "", None)),
            "versions": versions,
            "conversion": draw.pick((None, {"strategy": "None"}, value(draw))),
        },
    }


def _patch(draw: Draw, body: Any) -> Any:
    if draw.number(8) == 1:
        return value(draw)
    operations = [
        {"op": draw.pick(("add", "remove", "replace", "test", "copy", "move", "x")), "path": draw.pick(PATHS),
         "from": draw.pick(PATHS), "value": draw.pick((value(draw), body))}
        for _ in range(draw.number(3))
    ]  # fmt: skip
    return draw.pick((operations, [*operations, None], operations))


def _directed(draw: Draw, body: Any) -> Any:
    if is_object(body) and draw.number(4) == 1:
        key = draw.pick(("$patch", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers",
                        "$retainKeys"))  # fmt: skip
        body[key] = draw.pick(("delete", "replace", "merge", ["a"], [{"name": "a"}], value(draw)))
    return body


def request(draw: Draw, kinds: Sequence[tuple[str, str, str, bool, str]]) -> RawRequest:
    """Draw a request."""
    api_version, kind, plural, namespaced, type_ = draw.pick(kinds)
    method = draw.pick(METHODS)
    media = draw.pick(MEDIA[1:5] if method == "PATCH" else MEDIA[:1])
    if draw.number(12) == 1:
        media = draw.pick(MEDIA)
    if type_ == "apiextensions_v1.CustomResourceDefinition" and draw.number(2):
        body: Any = definition(draw)
    elif draw.number(6) == 1:
        body = value(draw)
    else:
        body = typed(draw, type_) if type_ else {"spec": value(draw), "status": value(draw)}
        if is_object(body):
            if draw.number(8) != 1:
                body["metadata"] = {"name": draw.pick(NAMES)} | draw.pick((
                    {}, {}, {}, {"finalizers": ["a.b/c"]}, {"ownerReferences": [value(draw)]},
                    {"labels": value(draw)}, {"resourceVersion": draw.pick(("1", "", 5))},
                    {"generateName": draw.pick(NAMES)}, {"managedFields": value(draw)}, {"uid": "x"},
                    {"namespace": draw.pick(NAMES)}, {"deletionTimestamp": "2026-01-01T00:00:00Z"},
                ))  # fmt: skip
            if draw.number(8) != 1:
                body |= {"apiVersion": api_version, "kind": kind}
    if "json-patch" in media:
        body = _patch(draw, body)
    elif method == "PATCH":
        body = _directed(draw, body)
    data = json.dumps(body).encode()
    match draw.number(40):
        case 1:
            data = data[: draw.number(len(data) + 1)]
        case 2:
            data = b""
        case 3:
            data = b"[" * 5000
        case 4:
            data = b"a: &a [*a]\n"
        case 5:
            data = b"\xff\xfe"
        case _:
            pass
    headers = [("Content-Type", media), ("Accept", draw.pick(ACCEPTS) if draw.number(5) == 1 else "")]
    return RawRequest(
        method, _target(draw, api_version, plural, method, namespaced=namespaced), tuple(headers), data
    )


def _target(draw: Draw, api_version: str, plural: str, method: str, *, namespaced: bool) -> str:
    if draw.number(60) == 1:
        return draw.pick(OTHER_TARGETS)
    path = ("/apis/" if "/" in api_version else "/api/") + api_version
    if namespaced and draw.number(20) != 1:
        path += f"/namespaces/{'default' if draw.number(9) else draw.pick(('a', 'none', ''))}"
    path += f"/{plural}"
    if method != "POST" and draw.number(6) != 1:
        path += f"/{draw.pick(NAMES)}"
        if draw.number(4) == 1:
            path += f"/{draw.pick(SUBRESOURCES)}"
    elif draw.number(30) == 1:
        path += f"/a/{draw.pick(SUBRESOURCES)}"
    query = draw.pick(QUERIES) if draw.number(3) == 1 else ""
    return f"{path}?{query}" if query else path


def kinds() -> list[tuple[str, str, str, bool, str]]:
    """Return the kinds of the requests: all built-in kinds, and two that definitions may define."""
    resources = [
        (
            resource.resource.api_version,
            resource.resource.kind,
            resource.resource.plural,
            resource.resource.namespaced,
            resource.type,
        )
        for resource in kind_table().resources
    ]
    custom = [(f"example.com/{version}", "Book", "books", True, "") for version in ("v1", "v2")]
    often = [
        resource
        for resource in resources
        if resource[2] in ("namespaces", "customresourcedefinitions", "pods", "services")
    ]
    return resources + custom * 3 + often * 3


_KINDS: Final = kinds()
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "integer", "default": 1, "maximum": 4},
                "b": {"type": "string", "pattern": "^a*$", "nullable": True},
                "": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            },
            "x-kubernetes-validations": [{"rule": "!has(self.b) || self.a > 0"}],
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
_BOOK: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "books.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "books", "kind": "Book", "singular": "book", "listKind": "BookList"},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"},
                },
                "additionalPrinterColumns": [
                    {"name": "A", "type": "integer", "jsonPath": ".spec.a"},
                    {"name": "When", "type": "date", "jsonPath": ".status.a"},
                ],
                "selectableFields": [{"jsonPath": ".spec.b"}],
            }
            for name in ("v1", "v2")
        ],
    },
}


def new_cluster() -> sim.Cluster:
    """Return a cluster with a custom resource that has a schema and versions."""
    cluster = sim.Cluster(crds=[_BOOK])
    cluster.keeps_log = False
    return cluster


def send_random_requests(data: bytes) -> int:
    """Draw requests from bytes and send them to a new cluster. Return the number of responses."""
    draw, cluster = Draw(data), new_cluster()
    return sum(1 for _ in responses(cluster, draw))


def responses(cluster: sim.Cluster, draw: Draw) -> Iterator[sim.ServerResponse]:
    """Yield the responses to the drawn requests; time passes between them."""
    while draw.has_data:
        raw_request = request(draw, _KINDS)
        try:
            response = cluster.respond(raw_request)
            if draw.number(8) == 1:
                cluster.advance(draw.pick((0.0, 0.2, 70.0)))
        except Exception as error:
            error.add_note(repr(raw_request)[:1500])
            raise
        assert 200 <= response.status < 600
        if not isinstance(response.body, bytes):
            response.body.take()
            response.body.close()
        yield response
