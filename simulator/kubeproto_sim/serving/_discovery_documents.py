"""What a server reports about itself: discovery in both forms, its version and its health."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

import msgspec

from kubeproto.wire import Head

from .._rejections import method_not_allowed, unknown_path
from .._state import ServerState
from ..kinds._kinds import Served
from ..kinds._releases import Release
from ..reading._negotiation import negotiate
from ..reading._query import Query
from ..reading._routes import unknown_version
from ._server_responses import ServerResponse, plain_response

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_HEALTH: Final = ("healthz", "livez", "readyz")
_ADDRESS: Final = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "192.0.2.1:443"}]
_CHECKS: Final = ("ping", "log", "etcd")


def document(
    state: ServerState, head: Head, segments: list[str], query: Query, headers: dict[str, str]
) -> ServerResponse:
    """Return the response for a path that is not a resource."""
    if segments[0] in _HEALTH:
        return _health(segments, query)
    if segments[0] == "openapi":
        from ._openapi_responses import openapi

        return openapi(state, head, segments[1:], query, headers)
    match segments:
        case ["version"]:
            found: Any = _version(state.release)
        case ["api" | "apis"]:
            accepted = negotiate(headers.get("accept", ""), "get")
            if accepted.view == "discovery":
                return _aggregated(state, segments[0], headers)
            found = _versions() if segments[0] == "api" else _groups(state)
        case ["api", "v1"]:
            found = _resources(state, "", "v1")
        case ["apis", group]:
            found = next((one for one in _groups(state)["groups"] if one["name"] == group), None)
            if found is not None:
                found = {"kind": "APIGroup", "apiVersion": "v1"} | found
        case ["apis", group, version]:
            found = _resources(state, group, version)
        case [""]:
            found = _root(state)
        case _:
            found = None
    if found is None:
        match segments:
            case ["api", _]:
                raise unknown_version(state.kinds, "")
            case ["apis", group, _]:
                raise unknown_version(state.kinds, group)
            case _:
                raise unknown_path()
    if head.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    body = msgspec.json.encode(found)
    body = msgspec.json.format(body, indent=2) if segments[0] == "version" else body + b"\n"
    return _json(body)


def _root(state: ServerState) -> Any:
    """Return the paths that exist, for people who start at the root."""
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
        for name, versions in _by_group(state).items()
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
    listed = [
        {
            "version": version,
            "resources": [
                _aggregated_resource(one) for one in state.kinds.by_version[name, version].values()
            ],
            "freshness": "Current",
        }
        for version in versions
    ]
    return {"metadata": {"name": name} if name else {}, "versions": listed}


def _aggregated_resource(served: Served) -> dict[str, Any]:
    resource = served.resource
    # The core kinds leave group and version to the list that they are in.
    version = served.version if served.group else ""
    found: dict[str, Any] = {
        "resource": served.plural,
        "responseKind": {"group": served.group, "version": version, "kind": served.kind},
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if served.subresources:
        found["subresources"] = [
            {
                "subresource": facts.name,
                "responseKind": {
                    "group": facts.kind.group,
                    "version": facts.kind.version if facts.kind.group else "",
                    "kind": facts.kind.kind,
                },
                "verbs": list(facts.verbs),
            }
            for facts in served.subresources.values()
        ]
    return found


def _by_group(state: ServerState) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for group, version in state.kinds.by_version:
        groups.setdefault(group, []).append(version)
    return groups


def _versions() -> dict[str, Any]:
    # The oldest of these documents, which has no apiVersion.
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": _ADDRESS}


def _groups(state: ServerState) -> dict[str, Any]:
    groups: list[dict[str, Any]] = []
    for name, versions in _by_group(state).items():
        if name:
            listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
            groups.append({"name": name, "versions": listed, "preferredVersion": listed[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(state: ServerState, group: str, version: str) -> dict[str, Any] | None:
    served = state.kinds.by_version.get((group, version))
    if served is None:
        return None
    resources: list[dict[str, Any]] = []
    for one in served.values():
        resource = one.resource
        found: dict[str, Any] = {
            "name": one.plural,
            "singularName": resource.singular,
            "namespaced": one.namespaced,
            "kind": one.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            found["shortNames"] = list(resource.short_names)
        if resource.categories:
            found["categories"] = list(resource.categories)
        if "watch" in resource.verbs:
            found["storageVersionHash"] = _storage_hash(one)
        resources.append(found)
        resources += [_subresource(one, facts) for facts in one.subresources.values()]
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": f"{group}/{version}" if group else version, "resources": resources}


def _subresource(served: Served, facts: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{served.plural}/{facts.name}", "singularName": "", "namespaced": served.namespaced,
    }  # fmt: skip
    if (facts.kind.group, facts.kind.version) != (served.group, served.version):
        found |= {"group": facts.kind.group, "version": facts.kind.version}
    return found | {"kind": facts.kind.kind, "verbs": list(facts.verbs)}


def _storage_hash(served: Served) -> str:
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
    asked, *checks = segments
    if len(checks) > 1 or any(check not in _CHECKS for check in checks):
        raise unknown_path()
    if "verbose" not in query:
        return plain_response(200, "ok")
    lines = [f"[+]{check} ok" for check in _CHECKS if check != query.get("exclude")]
    return plain_response(200, "\n".join([*lines, f"{asked} check passed\n"]))
