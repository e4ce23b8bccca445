"""Write the table again: `python -m tools.protobuf`. It needs Go, which fetches the modules if need be."""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any, Final

from kubeproto.kinds import table
from tools.protobuf._source import Json, read_package

TABLE: Final = Path(__file__).resolve().parents[2] / "kubeproto" / "sim" / "kinds" / "protobuf.json"

# Where the modules of the kinds' table come from; their version is that of Kubernetes, with 0 for 1.
_HOMES: Final = {
    "apiextensions_v1": ("k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1"),
    "apiregistration_v1": ("k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1"),
    "meta_v1": ("k8s.io/apimachinery", "pkg/apis/meta/v1"),
    "rbac_authorization_v1": ("k8s.io/api", "rbac/v1"),
    "flowcontrol_apiserver_v1": ("k8s.io/api", "flowcontrol/v1"),
}
_SHARED: Final = ("pkg/runtime", "pkg/util/intstr", "pkg/api/resource", "pkg/apis/meta/v1")


def build(folder_of: dict[str, Path]) -> Json:
    """The table: kinds by apiVersion and name, and all types that they are made of."""
    homes = {name.partition(".")[0] for name in table().types}
    places = {_HOMES.get(home, ("k8s.io/api", home.replace("_", "/"))) for home in homes}
    places |= {("k8s.io/apimachinery", path) for path in _SHARED}
    messages: Json = {}
    for module, path in sorted(places):
        messages |= read_package(folder_of[module] / path)
    kinds: dict[str, str] = {}
    for name, facts in table().types.items():
        home, _, class_ = name.partition(".")
        module, path = _HOMES.get(home, ("k8s.io/api", home.replace("_", "/")))
        package = f"{module.removeprefix('k8s.io/')}/{path}".replace("/", ".").replace("-", "_")
        if facts.gvk is not None and f"{package}.{class_}" in messages:
            kinds[f"{facts.gvk.api_version} {facts.gvk.kind}"] = f"{package}.{class_}"
    kinds["v1 DeleteOptions"] = "apimachinery.pkg.apis.meta.v1.DeleteOptions"
    return {"kubernetes": table().kubernetes, "kinds": kinds, "types": _reachable(messages, kinds)}


def _reachable(messages: Json, kinds: dict[str, str]) -> Json:
    found: dict[str, list[Any]] = {}
    todo = sorted(set(kinds.values()))
    while todo:
        name = todo.pop()
        if name not in found and name in messages:
            found[name] = messages[name]
            todo += [field[2] for field in messages[name]]
    return dict(sorted(found.items()))


def dump(found: Json) -> str:
    """The table as it is committed: a type a line."""
    lines = ",\n".join(f'  "{name}": {json.dumps(fields)}' for name, fields in found["types"].items())
    kinds = json.dumps(found["kinds"], indent=1)
    version = json.dumps(found["kubernetes"])
    return f'{{"kubernetes": {version},\n"kinds": {kinds},\n"types": {{\n{lines}\n}}}}\n'


def download(version: str) -> dict[str, Path]:
    """The folders of the modules, from Go's cache or from its proxy."""
    modules = {"k8s.io/api", *(module for module, _ in _HOMES.values())}
    wanted = [f"{module}@v0.{version.partition('.')[2]}" for module in sorted(modules)]
    command = ["go", "mod", "download", "-json", *wanted]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    decoder, at, found = json.JSONDecoder(), 0, dict[str, Path]()
    while at < len(said.rstrip()):
        one, at = decoder.raw_decode(said, at + len(said[at:]) - len(said[at:].lstrip()))
        found[one["Path"]] = Path(one["Dir"])
    return found


def main() -> None:
    """Fetch the modules of the version that the kinds have, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.protobuf", description=__doc__)
    parser.add_argument("--into", type=Path, default=TABLE, help="the file to write")
    said = parser.parse_args()
    said.into.write_text(dump(build(download(table().kubernetes))))


if __name__ == "__main__":
    main()
