"""Generate protobuf.json: `python -m tools.protobuf`. It requires Go, which downloads missing modules."""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any, Final

from kubeproto.kinds import kind_table
from tools.protobuf._source import Json, read_package

TABLE: Final = Path(__file__).resolve().parents[2] / "simulator/kubeproto_sim/kinds/protobuf.json"

# The Go modules of the table of kinds; their version is v0.x.y for Kubernetes 1.x.y.
_GO_PACKAGES: Final = {
    "apiextensions_v1": ("k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1"),
    "apiregistration_v1": ("k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1"),
    "meta_v1": ("k8s.io/apimachinery", "pkg/apis/meta/v1"),
    "rbac_authorization_v1": ("k8s.io/api", "rbac/v1"),
    "flowcontrol_apiserver_v1": ("k8s.io/api", "flowcontrol/v1"),
}
_SHARED: Final = ("pkg/runtime", "pkg/util/intstr", "pkg/api/resource", "pkg/apis/meta/v1")


def build(folder_of: dict[str, Path]) -> Json:
    """Return the table: the types of kinds by apiVersion and name, and all types that they contain."""
    group_versions = {name.partition(".")[0] for name in kind_table().types}
    packages = {
        _GO_PACKAGES.get(group_version, ("k8s.io/api", group_version.replace("_", "/")))
        for group_version in group_versions
    }
    packages |= {("k8s.io/apimachinery", path) for path in _SHARED}
    messages: Json = {}
    for module, path in sorted(packages):
        messages |= read_package(folder_of[module] / path)
    kinds: dict[str, str] = {}
    for name, builtin_type in kind_table().types.items():
        group_version, _, class_ = name.partition(".")
        module, path = _GO_PACKAGES.get(group_version, ("k8s.io/api", group_version.replace("_", "/")))
        package = f"{module.removeprefix('k8s.io/')}/{path}".replace("/", ".").replace("-", "_")
        if builtin_type.gvk is not None and f"{package}.{class_}" in messages:
            kinds[f"{builtin_type.gvk.api_version} {builtin_type.gvk.kind}"] = f"{package}.{class_}"
    kinds["v1 DeleteOptions"] = "apimachinery.pkg.apis.meta.v1.DeleteOptions"
    return {"kubernetes": kind_table().kubernetes, "kinds": kinds, "types": _reachable(messages, kinds)}


def _reachable(messages: Json, kinds: dict[str, str]) -> Json:
    reachable: dict[str, list[Any]] = {}
    pending = sorted(set(kinds.values()))
    while pending:
        name = pending.pop()
        if name not in reachable and name in messages:
            reachable[name] = messages[name]
            pending += [field[2] for field in messages[name]]
    return dict(sorted(reachable.items()))


def dump(tables: Json) -> str:
    """Return the table as the text of the file: one line for each type."""
    lines = ",\n".join(f'  "{name}": {json.dumps(fields)}' for name, fields in tables["types"].items())
    kinds = json.dumps(tables["kinds"], indent=1)
    version = json.dumps(tables["kubernetes"])
    return f'{{"kubernetes": {version},\n"kinds": {kinds},\n"types": {{\n{lines}\n}}}}\n'


def download(version: str) -> dict[str, Path]:
    """Return the folders of the modules, from Go's cache or from its proxy."""
    modules = {"k8s.io/api", *(module for module, _ in _GO_PACKAGES.values())}
    module_versions = [f"{module}@v0.{version.partition('.')[2]}" for module in sorted(modules)]
    command = ["go", "mod", "download", "-json", *module_versions]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    decoder, position, folders = json.JSONDecoder(), 0, dict[str, Path]()
    while position < len(output.rstrip()):
        entry, position = decoder.raw_decode(
            output, position + len(output[position:]) - len(output[position:].lstrip())
        )
        folders[entry["Path"]] = Path(entry["Dir"])
    return folders


def main() -> None:
    """Download the modules of the kinds' version, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.protobuf", description=__doc__)
    parser.add_argument("--into", type=Path, default=TABLE, help="the file to write")
    arguments = parser.parse_args()
    arguments.into.write_text(dump(build(download(kind_table().kubernetes))))


if __name__ == "__main__":
    main()
