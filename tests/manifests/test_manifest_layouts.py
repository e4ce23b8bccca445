"""Manifests as files: a folder for kustomize, and a Helm chart."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from book_operators import PACKAGING, with_conversion, with_files
from simulated_programs import describe_program

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
def test_kubectl_builds_the_same_objects_from_a_kustomization(
    image: str, pinned: str, tmp_path: Path
) -> None:
    objects = manifests(describe_program(with_files), msgspec.structs.replace(PACKAGING, image=image))
    write_files(tmp_path, kustomization(objects, image=image))
    result = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    expected = manifests(describe_program(with_files), msgspec.structs.replace(PACKAGING, image=pinned))
    assert to_set(kp.parse_manifest(result.stdout)) == to_set(expected)
    name = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["images"][0]["name"]
    assert pinned.startswith(name)
    assert name.endswith("/books") or name == "books"  # the name that an overlay refers to


EACH_OPERATOR: Final = pytest.mark.parametrize("make_operator", [with_files, with_conversion])


@EACH_OPERATOR
def test_a_chart_with_default_values_renders_the_same_objects(make_operator: Any) -> None:
    objects = manifests(describe_program(make_operator), PACKAGING)
    files = helm_chart(objects, name="books", namespace="library")
    assert {"Chart.yaml", "values.yaml"} < files.keys()
    objects_of_chart = [obj for obj in objects if obj.kind != "Namespace"]
    assert to_set(render_chart(files, "library")) == to_set(objects_of_chart)


@EACH_OPERATOR
def test_a_chart_in_another_namespace_uses_that_namespace_everywhere(make_operator: Any) -> None:
    files = helm_chart(
        manifests(describe_program(make_operator), PACKAGING), name="books", namespace="library"
    )
    text = "\n".join(kp.dump_yaml(obj) for obj in render_chart(files, "elsewhere"))
    assert "elsewhere" in text
    assert not re.search(r"\blibrary\b", text)


def test_a_definition_is_kept_when_a_release_is_deleted() -> None:
    for make_operator in (with_files, with_conversion):
        files = helm_chart(
            manifests(describe_program(make_operator), PACKAGING), name="books", namespace="library"
        )
        [path] = [path for path in files if "customresourcedefinition-" in path]
        assert path.startswith("crds/") or "helm.sh/resource-policy: keep" in files[path]


KEEP: Final = "    helm.sh/resource-policy: keep\n"


def render_chart(files: dict[str, str], namespace: str) -> list[kp.Dynamic]:
    """Replace the few expressions of the templates like Helm."""
    values = dict(line.split(": ", 1) for line in files["values.yaml"].splitlines())
    rendered_objects: list[kp.Dynamic] = []
    for name, text in files.items():
        if name.startswith("crds/"):
            rendered_objects += kp.parse_manifest(text)
            continue
        if not name.startswith("templates/"):
            continue
        text = text.replace("{{ .Release.Namespace }}", namespace)
        text = text.replace("{{ toJson .Values.resources }}", values["resources"])
        for key in ("image", "replicas"):
            text = text.replace(f"{{{{ .Values.{key} }}}}", str(msgspec.json.decode(values[key])))
        expressions = text.replace('{{ "{{" }}', "")
        assert "{{" not in expressions
        rendered_objects += kp.parse_manifest(text.replace('{{ "{{" }}', "{{").replace(KEEP, ""))
    return rendered_objects


def to_set(objects: list[kp.Dynamic]) -> set[bytes]:
    return {msgspec.json.encode(msgspec.json.decode(kp.encode(obj)), order="sorted") for obj in objects}


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
