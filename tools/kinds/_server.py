"""Where facts come from: a live API server, or its documents in a folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from tools.kinds._facts import Json, gather

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_JSON: Final = "application/json"
_PATIENCE: Final = 60.0  # seconds for one document


def from_server(server: str) -> Json:
    """The facts of the server at this address, which is asked without a token: `kubectl proxy` gives one."""
    return from_reader(lambda path, accept: _get(server, path, accept=accept))


def from_reader(read: Callable[[str, str], Any]) -> Json:
    """The facts of the server whose documents this reads, by path and media type."""
    discovery = {root: read(f"/{root}", _AGGREGATED) for root in ("api", "apis")}
    index = read("/openapi/v3", _JSON)["paths"]
    # A group-version has two slashes at most: api/v1, apis/apps/v1. The others hold no kinds.
    urls = [found["serverRelativeURL"] for path, found in sorted(index.items()) if _holds_kinds(path)]
    version = read("/version", _JSON)["gitVersion"]
    return gather(version.removeprefix("v"), discovery, [read(url, _JSON) for url in urls])


def from_folder(folder: Path, kubernetes: str) -> Json:
    """The facts of documents in files: openapi-v3/*.json and discovery-aggregated.json."""
    discovery = json.loads((folder / "discovery-aggregated.json").read_bytes())
    documents = (json.loads(path.read_bytes()) for path in sorted((folder / "openapi-v3").glob("*.json")))
    return gather(kubernetes, discovery, documents)


def _holds_kinds(path: str) -> bool:
    return path.startswith("api/") or (path.startswith("apis/") and path.count("/") == 2)


def _get(server: str, path: str, *, accept: str) -> Any:
    if not server.startswith(("http://", "https://")):
        raise ValueError(f"{server!r} is not an address of a server: one begins with http:// or https://")
    with urlopen(Request(server.rstrip("/") + path, headers={"Accept": accept}), timeout=_PATIENCE) as reply:
        return json.load(reply)
