"""The sources of a description: a live API server, or its documents in a folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from tools.kinds._api_description import Json, gather

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_JSON: Final = "application/json"
_TIMEOUT: Final = 60.0  # seconds for each document


def from_server(server: str) -> Json:
    """Return the description of the server at this address. No token is sent: `kubectl proxy` adds it."""
    return from_reader(lambda path, accept: _get(server, path, accept=accept))


def from_reader(read: Callable[[str, str], Any]) -> Json:
    """Return the description of a server; `read` returns a document by its path and media type."""
    discovery = {root: read(f"/{root}", _AGGREGATED) for root in ("api", "apis")}
    index = read("/openapi/v3", _JSON)["paths"]
    # Drop the hash of the index: a stale hash would cause a redirect.
    paths = [f"/openapi/v3/{path}" for path in sorted(index) if _is_built_in(path)]
    version = read("/version", _JSON)["gitVersion"]
    return gather(version.removeprefix("v"), discovery, [read(path, _JSON) for path in paths])


def from_folder(folder: Path, kubernetes_version: str) -> Json:
    """Read the description from files: openapi-v3/*.json and discovery-aggregated.json."""
    discovery = json.loads((folder / "discovery-aggregated.json").read_bytes())
    documents = (json.loads(path.read_bytes()) for path in sorted((folder / "openapi-v3").glob("*.json")))
    return gather(kubernetes_version, discovery, documents)


def _is_built_in(path: str) -> bool:
    """Return whether a document may describe a built-in group version, not a custom resource."""
    match path.split("/"):
        case ["api", _]:
            return True
        case ["apis", group, _]:
            return "." not in group or group.endswith(".k8s.io")
        case _:
            return False


def _get(server: str, path: str, *, accept: str) -> Any:
    if not server.startswith(("http://", "https://")):
        raise ValueError(f"{server!r} is not the URL of a server, which begins with http:// or https://")
    with urlopen(Request(server.rstrip("/") + path, headers={"Accept": accept}), timeout=_TIMEOUT) as reply:
        return json.load(reply)
