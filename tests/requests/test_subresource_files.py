"""A subresource of a kind is refused for other kinds."""

from __future__ import annotations

from typing import Any

import pytest

import kubeproto as kp
from kubeproto.kinds.core_v1 import Secret


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("approval", "certificatesigningrequests"),
        ("ephemeral_containers", "pods"),
        ("resize", "pods"),
    ],
)
def test_a_subresource_of_a_kind_is_refused_for_another_kind(name: str, home: str) -> None:
    # A custom kind without declared subresources.
    api: Any = kp.Api(kp.Dynamic, resource=kp.Resource("example.com", "v1", "Book", "books"))
    with pytest.raises(kp.InvalidRequest, match=f"is a subresource of {home}, and unknown for Book"):
        getattr(api, name)


def test_only_namespaces_have_finalizers_in_the_spec() -> None:
    api: Any = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Secret", "secrets"), namespace="default")
    secret = Secret(metadata=kp.ObjectMeta(name="s", namespace="default"))
    with pytest.raises(kp.InvalidRequest, match="'finalize' is a subresource of namespaces"):
        api.finalize(secret)
