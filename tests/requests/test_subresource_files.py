"""A subresource of pods stands in three files; CONTRIBUTING says which. Each is refused to other kinds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kubeproto as kp
from kubeproto.kinds.core_v1 import Secret

ROOT = Path(__file__).resolve().parents[2]


def test_a_subresource_is_added_in_three_files() -> None:
    named = {
        str(path.relative_to(ROOT))
        for home in ("kubeproto/requests", "kubeproto/objects", "runtime/kubeproto_runtime")
        for path in (ROOT / home).rglob("*.py")
        if re.search(r"\bephemeral_?containers\b", path.read_text(encoding="utf-8"))
    }
    assert named == {
        "kubeproto/requests/_subresources.py",
        "runtime/kubeproto_runtime/blocking/_verbs.py",
        "runtime/kubeproto_runtime/client/_verbs.py",
    }
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [row] = [line for line in contributing.splitlines() if line.startswith("| a subresource |")]
    assert "`kubeproto/requests/_subresources.py`" in row
    assert "the two `_verbs.py`" in row


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("approval", "certificatesigningrequests"),
        ("ephemeral_containers", "pods"),
        ("resize", "pods"),
    ],
)
def test_a_subresource_of_one_kind_is_refused_to_another(name: str, home: str) -> None:
    # As a kind of one's own, which says nothing of its subresources.
    api: Any = kp.Api(kp.Dynamic, resource=kp.Resource("example.com", "v1", "Book", "books"))
    with pytest.raises(kp.InvalidRequest, match=f"is a subresource of {home}; a Book has none"):
        getattr(api, name)


def test_the_finalizers_in_a_spec_are_those_of_a_namespace() -> None:
    api: Any = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Secret", "secrets"), namespace="default")
    secret = Secret(metadata=kp.ObjectMeta(name="s", namespace="default"))
    with pytest.raises(kp.InvalidRequest, match="'finalize' is a subresource of namespaces"):
        api.finalize(secret)
