"""The commands, and kubectl, against servers of older releases."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_processes import CommandLine

from kubeproto.kinds import kind_table
from kubeproto_serve import serving
from kubeproto_sim import Cluster

pytestmark = pytest.mark.one_python
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {schedulingGroup: {}, containers: [{name: c, image: i}]}
"""
BOOKS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: books.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Book, plural: books}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {title: {type: string}}}}
"""


@pytest.mark.parametrize("release", kind_table().releases)
def test_each_command_works_with_a_server_of_an_older_release(release: str, tmp_path: Path) -> None:
    with serving(Cluster(kubernetes=release)) as server:
        cli = CommandLine(server, tmp_path)
        server_line = cli.call("doctor", status=0).stdout.splitlines()[3]
        assert server_line.split() == [
            "ok", "server", "it", "is", "Kubernetes", f"v{kind_table().releases[release].kubernetes}",
        ]  # fmt: skip
        cli.call("apply", "-f", "-", stdin=BOOKS, status=0)
        generated_module = cli.call("generate", "books.example.com", status=0).stdout
        assert "class BookSpec(kp.Fields):\n    title: str" in generated_module
        result = cli.call("apply", "-f", "-", stdin=POD, status=1)
        assert "core_v1.PodSpec.schedulingGroup" in kind_table().releases[release].missing_fields
        assert ".spec.schedulingGroup: field not declared in schema" in result.stderr + result.stdout
