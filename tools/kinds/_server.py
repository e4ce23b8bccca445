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
    # Without the hash of the index: once a document has changed, its old hash is answered with a redirect.
    paths = [f"/openapi/v3/{path}" for path in sorted(index) if _is_built_in(path)]
    version = read("/version", _JSON)["gitVersion"]
    return gather(version.removeprefix("v"), discovery, [read(path, _JSON) for path in paths])


def from_folder(folder: Path, kubernetes: str) -> Json:
    """The facts of documents in files: openapi-v3/*.json and discovery-aggregated.json."""
    discovery = json.loads((folder / "discovery-aggregated.json").read_bytes())
    documents = (json.loads(path.read_bytes()) for path in sorted((folder / "openapi-v3").glob("*.json")))
    return gather(kubernetes, discovery, documents)


def _is_built_in(path: str) -> bool:
    """Whether this is the document of a group version that can be built in; custom ones come and go."""
    match path.split("/"):
        case ["api", _]:
            return True
        case ["apis", group, _]:
            return "." not in group or group.endswith(".k8s.io")
        case _:
            return False


def _get(server: str, path: str, *, accept: str) -> Any:
    if not server.startswith(("http://", "https://")):
        raise ValueError(f"{server!r} is not an address of a server: one begins with http:// or https://")
    with urlopen(Request(server.rstrip("/") + path, headers={"Accept": accept}), timeout=_PATIENCE) as reply:
        return json.load(reply)
