"""Kinds without the requested verbs, and the error at run time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kubeproto as kp
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import ConfigMap


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="library.example.com", version="v1", definition=kp.Definition()):
    """A custom resource without any subresource."""


class SlimPod(kp.KubeObject, version="v1", kind="Pod", plural="pods"):
    """A pod whose class does not declare its capabilities."""


CONFIG_MAPS = kp.Api(ConfigMap)
DEPLOYMENTS = kp.Api(Deployment)
BOOKS = kp.Api(Book)
SLIM_PODS = kp.Api(SlimPod)


def check_refusal(build_request: Callable[[], object]) -> None:
    """Check that a verb that type checkers refuse is refused at run time as well."""
    with pytest.raises(kp.InvalidRequest, match="subresource"):
        build_request()
