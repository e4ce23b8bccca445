"""The documents of a server about itself: discovery in both forms, its version and its health."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

import msgspec

from kubeproto.wire import RawRequest

from .._rejections import method_not_allowed, unknown_path
from .._state import ServerState
from ..kinds._kubernetes_releases import Release
from ..kinds._served_kinds import ServedKind
from ..reading._negotiation import negotiate
from ..reading._query import Query
from ..reading._routes import unknown_version
from ._server_responses import ServerResponse, plain_response

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_HEALTH: Final = ("healthz", "livez", "readyz")
_ADDRESS: Final = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "192.0.2.1:443"}]
_CHECKS: Final = ("ping", "log", "etcd")


def discovery_response(
    state: ServerState, request: RawRequest, segments: list[str], query: Query, headers: dict[str, str]
) -> ServerResponse:
    """Return the response for a path that is not a resource."""
    if segments[0] in _HEALTH:
        return _health(segments, query)
    if segments[0] == "openapi":
        from ._openapi_responses import openapi_response

        return openapi_response(state, request, segments[1:], query, headers)
    match segments:
        case ["version"]:
            content: Any = _version(state.release)
        case ["api" | "apis"]:
            response_format = negotiate(headers.get("accept", ""), "get")
            if response_format.view == "discovery":
                return _aggregated(state, segments[0], headers)
            content = _versions() if segments[0] == "api" else _groups(state)
        case ["api", "v1"]:
            content = _resources(state, "", "v1")
        case ["apis", group]:
            content = next((entry for entry in _groups(state)["groups"] if entry["name"] == group), None)
            if content is not None:
                content = {"kind": "APIGroup", "apiVersion": "v1"} | content
        case ["apis", group, version]:
            content = _resources(state, group, version)
        case [""]:
            content = _root(state)
        case _:
            content = None
    if content is None:
        match segments:
            case ["api", _]:
                raise unknown_version(state.kinds, "")
            case ["apis", group, _]:
                raise unknown_version(state.kinds, group)
            case _:
                raise unknown_path()
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    body = msgspec.json.encode(content)
    body = msgspec.json.format(body, indent=2) if segments[0] == "version" else body + b"\n"
    return _json(body)


def _root(state: ServerState) -> Any:
    """Return the paths of the server, as a request for its root returns them."""
    versions = [
        f"/apis/{group}/{version}" if group else f"/api/{version}"
        for group, version in state.kinds.by_version
    ]
    groups = {f"/apis/{group}" for group, _ in state.kinds.by_version if group}
    others = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
    return {"paths": sorted({*versions, *groups, *others})}


def _json(body: bytes) -> ServerResponse:
    headers = (
        ("Cache-Control", "no-cache, private"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    )
    return ServerResponse(200, headers, body)


def _aggregated(state: ServerState, root: str, headers: dict[str, str]) -> ServerResponse:
    items = [
        _group(state, name, versions)
        for name, versions in _versions_by_group(state).items()
        if bool(name) == (root == "apis")
    ]
    document: dict[str, Any] = {
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items,
    }  # fmt: skip
    body = msgspec.json.encode(document)
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    shared = (("Cache-Control", "public"), ("Etag", tag), ("Vary", "Accept"))
    if headers.get("if-none-match") == tag:
        return ServerResponse(304, shared, b"")
    body += b"\n"
    cached, etag, vary = shared
    typed = ("Content-Type", _AGGREGATED)
    return ServerResponse(200, (cached, typed, etag, vary, ("Content-Length", str(len(body)))), body)


def _group(state: ServerState, name: str, versions: list[str]) -> dict[str, Any]:
    entries = [
        {
            "version": version,
            "resources": [
                _aggregated_resource(resource) for resource in state.kinds.by_version[name, version].values()
            ],
            "freshness": "Current",
        }
        for version in versions
    ]
    return {"metadata": {"name": name} if name else {}, "versions": entries}


def _aggregated_resource(served: ServedKind) -> dict[str, Any]:
    resource = served.resource
    # The kinds of the core group inherit group and version from their list.
    version = served.version if served.group else ""
    entry: dict[str, Any] = {
        "resource": served.plural,
        "responseKind": {"group": served.group, "version": version, "kind": served.kind},
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if served.subresources:
        entry["subresources"] = [
            {
                "subresource": subresource.name,
                "responseKind": {
                    "group": subresource.kind.group,
                    "version": subresource.kind.version if subresource.kind.group else "",
                    "kind": subresource.kind.kind,
                },
                "verbs": list(subresource.verbs),
            }
            for subresource in served.subresources.values()
        ]
    return entry


def _versions_by_group(state: ServerState) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for group, version in state.kinds.by_version:
        groups.setdefault(group, []).append(version)
    return groups


def _versions() -> dict[str, Any]:
    # This legacy document has no apiVersion.
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": _ADDRESS}


def _groups(state: ServerState) -> dict[str, Any]:
    groups: list[dict[str, Any]] = []
    for name, versions in _versions_by_group(state).items():
        if name:
            entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
            groups.append({"name": name, "versions": entries, "preferredVersion": entries[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(state: ServerState, group: str, version: str) -> dict[str, Any] | None:
    served = state.kinds.by_version.get((group, version))
    if served is None:
        return None
    resources: list[dict[str, Any]] = []
    for kind in served.values():
        resource = kind.resource
        entry: dict[str, Any] = {
            "name": kind.plural,
            "singularName": resource.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        if "watch" in resource.verbs:
            entry["storageVersionHash"] = _storage_hash(kind)
        resources.append(entry)
        resources += [_subresource(kind, subresource) for subresource in kind.subresources.values()]
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": f"{group}/{version}" if group else version, "resources": resources}


def _subresource(served: ServedKind, subresource: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{served.plural}/{subresource.name}", "singularName": "", "namespaced": served.namespaced,
    }  # fmt: skip
    if (subresource.kind.group, subresource.kind.version) != (served.group, served.version):
        entry |= {"group": subresource.kind.group, "version": subresource.kind.version}
    return entry | {"kind": subresource.kind.kind, "verbs": list(subresource.verbs)}


def _storage_hash(served: ServedKind) -> str:
    group, _, version = served.stored_api_version.rpartition("/")
    text = f"{group}/{version}/{served.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _version(release: Release) -> dict[str, str]:
    full = release.version
    major, minor, _ = full.split(".")
    return {
        "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
        "minCompatibilityMajor": major, "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{full}", "gitCommit": "$Format:%H$", "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "go1.26.8", "compiler": "gc",
        "platform": "linux/amd64",
    }  # fmt: skip


def _health(segments: list[str], query: Query) -> ServerResponse:
    endpoint, *checks = segments
    if len(checks) > 1 or any(check not in _CHECKS for check in checks):
        raise unknown_path()
    if "verbose" not in query:
        return plain_response(200, "ok")
    lines = [f"[+]{check} ok" for check in _CHECKS if check != query.get("exclude")]
    return plain_response(200, "\n".join([*lines, f"{endpoint} check passed\n"]))
