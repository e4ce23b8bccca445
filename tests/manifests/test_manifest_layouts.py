"""Manifests as files: a folder for kustomize, and a chart."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from deployed import described
from shelved import PACKAGING, converting, with_files

import kubeproto as kp
from kubeproto_runtime.manifests import helm_chart, kustomization, manifests

IMAGES: Final = {
    "books": "books:latest",
    "registry.example.com/books:1.2": "registry.example.com/books:1.2",
    "localhost:5000/books": "localhost:5000/books:latest",
    "localhost:5000/books:1.2": "localhost:5000/books:1.2",
    f"localhost:5000/books:1.2@sha256:{'0' * 64}": f"localhost:5000/books@sha256:{'0' * 64}",
}


@pytest.mark.needs("kubectl")
@pytest.mark.parametrize(("image", "pinned"), IMAGES.items(), ids=[*"abcde"])
def test_kubectl_joins_the_files_of_a_kustomization_to_the_same_objects(
    image: str, pinned: str, tmp_path: Path
) -> None:
    objects = manifests(described(with_files), msgspec.structs.replace(PACKAGING, image=image))
    write(tmp_path, kustomization(objects, image=image))
    done = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = manifests(described(with_files), msgspec.structs.replace(PACKAGING, image=pinned))
    assert as_set(kp.parse_manifest(done.stdout)) == as_set(expected)
    name = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["images"][0]["name"]
    assert pinned.startswith(name)
    assert name.endswith("/books") or name == "books"  # what an overlay pins anew


CHARTED: Final = pytest.mark.parametrize("make", [with_files, converting])


@CHARTED
def test_a_chart_with_its_own_values_in_the_same_namespace_is_the_same_objects(make: Any) -> None:
    objects = manifests(described(make), PACKAGING)
    files = helm_chart(objects, name="books", namespace="library")
    assert {"Chart.yaml", "values.yaml"} < files.keys()
    kept = [obj for obj in objects if obj.kind != "Namespace"]
    assert as_set(rendered(files, "library")) == as_set(kept)


@CHARTED
def test_a_chart_in_another_namespace_speaks_of_that_one_everywhere(make: Any) -> None:
    files = helm_chart(manifests(described(make), PACKAGING), name="books", namespace="library")
    text = "\n".join(kp.dump_yaml(obj) for obj in rendered(files, "elsewhere"))
    assert "elsewhere" in text
    assert not re.search(r"\blibrary\b", text)


def test_a_definition_is_kept_when_a_release_is_deleted() -> None:
    for make in (with_files, converting):
        files = helm_chart(manifests(described(make), PACKAGING), name="books", namespace="library")
        [path] = [path for path in files if "customresourcedefinition-" in path]
        assert path.startswith("crds/") or "helm.sh/resource-policy: keep" in files[path]


KEEP: Final = "    helm.sh/resource-policy: keep\n"


def rendered(files: dict[str, str], namespace: str) -> list[kp.Dynamic]:
    """What Helm makes of the few expressions that the templates have."""
    values = dict(line.split(": ", 1) for line in files["values.yaml"].splitlines())
    found: list[kp.Dynamic] = []
    for name, text in files.items():
        if name.startswith("crds/"):
            found += kp.parse_manifest(text)
            continue
        if not name.startswith("templates/"):
            continue
        text = text.replace("{{ .Release.Namespace }}", namespace)
        text = text.replace("{{ toJson .Values.resources }}", values["resources"])
        for key in ("image", "replicas"):
            text = text.replace(f"{{{{ .Values.{key} }}}}", str(msgspec.json.decode(values[key])))
        expressions = text.replace('{{ "{{" }}', "")
        assert "{{" not in expressions
        found += kp.parse_manifest(text.replace('{{ "{{" }}', "{{").replace(KEEP, ""))
    return found


def as_set(objects: list[kp.Dynamic]) -> set[bytes]:
    return {msgspec.json.encode(msgspec.json.decode(kp.encode(obj)), order="sorted") for obj in objects}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
