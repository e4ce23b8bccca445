"""The control plane is complete, has the expected users, and is the same after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

import kubeproto as kp
from kubeproto import Api
from kubeproto.config import Connection
from kubeproto.kinds.core_v1 import ConfigMap, Namespace
from kubeproto.requests import Request
from kubeproto_httpx import BlockingHttpxTransport
from realserver import RealServer

T = TypeVar("T")

NAMESPACES = Api(Namespace)
CONFIG_MAPS = Api(ConfigMap, namespace="default")


def ask(connection: Connection, request: Request[T]) -> T:
    with BlockingHttpxTransport(connection) as transport, transport.send(request, timeout=60) as incoming:
        return request.parse(incoming.status, incoming.headers, b"".join(incoming)).value


def test_the_admin_has_all_permissions_and_the_other_users_have_none(real_server: RealServer) -> None:
    names = {namespace.metadata.name for namespace in ask(real_server.connection, NAMESPACES.list()).items}
    assert names >= {"default", "kube-system"}
    for user in ("nobody", "robot"):
        with pytest.raises(kp.Forbidden, match=f'User \\\\?"{user}'):
            ask(real_server.connection_for(user), NAMESPACES.list())


def test_objects_and_address_are_the_same_after_a_crash(
    start_real_server: Callable[..., RealServer],
) -> None:
    server = start_real_server()
    connection = server.connection
    created = ask(connection, CONFIG_MAPS.create(ConfigMap(metadata=kp.ObjectMeta(name="kept"))))
    server.restart()
    stored = ask(connection, CONFIG_MAPS.get("kept"))
    assert stored.metadata.uid == created.metadata.uid
    assert server.connection == connection
    server.stop()
    with pytest.raises(kp.TransportError):
        ask(connection, CONFIG_MAPS.get("kept"))
