"""Layouts of manifests as files: a folder for ``kubectl apply -k``, or a Helm chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from kubeproto import Dynamic, dump_yaml, parse_manifest

from .._documents import to_builtins
from ._operator_manifests import INJECT_FROM

if TYPE_CHECKING:
    from collections.abc import Iterable

# Placeholders for the values of a chart while the YAML is written.
_NAMESPACE: Final = "release-namespace-of-the-chart"
_IMAGE: Final = "image-of-the-chart"
_REPLICAS: Final = 1_234_567
_RESOURCES: Final = "resources-of-the-chart"
_RESOURCE_POLICY: Final = "helm.sh/resource-policy"

_KUSTOMIZATION: Final = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{}images:
- name: {}
  {}: "{}"
"""
_CHART: Final = """\
apiVersion: v2
name: {}
type: application
version: "{}"
"""


def kustomization(objects: Iterable[Dynamic], *, image: str) -> dict[str, str]:
    """Return the files of a folder for kustomize: a file for each object, and the kustomization."""
    files = {_file_name(obj): dump_yaml(obj) for obj in objects}
    resources = "".join(f"- {file}\n" for file in files)
    return {"kustomization.yaml": _KUSTOMIZATION.format(resources, *_image_parts(image)), **files}


def _image_parts(image: str) -> tuple[str, str, str]:
    """Return the name of an image, the field of kustomize that pins it, and the value of the field."""
    name, separator, digest = image.partition("@")
    if separator:
        return _image_parts(name)[0], "digest", digest
    name, colon, tag = image.rpartition(":")
    # A colon before a slash precedes the port of a registry.
    return (name, "newTag", tag) if colon and "/" not in tag else (image, "newTag", "latest")


def helm_chart(
    objects: Iterable[Dynamic], *, name: str, namespace: str, version: str = "0.1.0"
) -> dict[str, str]:
    """Return the files of a Helm chart: definitions in ``crds/``, and templates of all other objects.

    A definition with a conversion webhook contains the namespace of the release. Helm does not process
    templates in ``crds/``, so such a definition is a template too, which Helm keeps when the release is
    deleted. The Namespace is omitted: Helm requires an existing namespace, or creates it with
    ``--create-namespace``.
    """
    files: dict[str, str] = {}
    values: dict[str, Any] = {}
    for obj in objects:
        document: dict[str, Any] = to_builtins(obj)
        if obj.kind == "Namespace":
            continue
        if obj.kind == "CustomResourceDefinition":
            if "conversion" not in document["spec"]:
                files[f"crds/{_file_name(obj)}"] = dump_yaml(obj)
                continue
            document["metadata"].setdefault("annotations", {})[_RESOURCE_POLICY] = "keep"
        if obj.kind == "Deployment":
            values = _take_values(document["spec"])
        text = _dump_yaml(_move_to_release(document, namespace))
        files[f"templates/{_file_name(obj)}"] = _write_template(text)
    lines = [f"{key}: {msgspec.json.encode(value).decode()}\n" for key, value in values.items()]
    return {"Chart.yaml": _CHART.format(name, version), "values.yaml": "".join(lines), **files}


def _take_values(spec: dict[str, Any]) -> dict[str, Any]:
    """Replace the values of the chart with placeholders, and return them."""
    container = spec["template"]["spec"]["containers"][0]
    values = {
        "image": container["image"],
        "replicas": spec["replicas"],
        "resources": container["resources"],
    }
    container["image"], spec["replicas"], container["resources"] = _IMAGE, _REPLICAS, _RESOURCES
    return values


def _move_to_release(value: Any, namespace: str) -> Any:
    """Return a document with the namespace of the release in place of `namespace`."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {key: _move_member(key, element, namespace) for key, element in members.items()}
        case list():
            return [_move_to_release(element, namespace) for element in cast("list[object]", value)]
        case str():
            return value.replace(f".{namespace}.svc", f".{_NAMESPACE}.svc")  # a host of the Service
        case _:
            return value


def _move_member(key: str, value: Any, namespace: str) -> Any:
    if key == "namespace" and value == namespace:
        return _NAMESPACE
    if key == INJECT_FROM:
        return f"{_NAMESPACE}/{value.partition('/')[2]}"
    return _move_to_release(value, namespace)


def _write_template(text: str) -> str:
    return (
        text.replace("{{", '{{ "{{" }}')  # a description or a match condition may contain it
        .replace(_NAMESPACE, "{{ .Release.Namespace }}")
        .replace(_IMAGE, "{{ .Values.image }}")
        .replace(str(_REPLICAS), "{{ .Values.replicas }}")
        .replace(_RESOURCES, "{{ toJson .Values.resources }}")
    )


def _file_name(obj: Dynamic) -> str:
    return f"{obj.kind.lower()}-{obj.metadata.name.replace(':', '-')}{_namespace_suffix(obj)}.yaml"


def _namespace_suffix(obj: Dynamic) -> str:
    # Roles of the same name may be in several namespaces.
    return f"-in-{obj.metadata.namespace}" if obj.kind in ("Role", "RoleBinding") else ""


def _dump_yaml(document: dict[str, Any]) -> str:
    return dump_yaml(parse_manifest(msgspec.json.encode(document)))
