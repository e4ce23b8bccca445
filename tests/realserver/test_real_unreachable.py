"""A real server refuses logs and commands of pods without a kubelet like the simulated server."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any

import anyio
import pytest
from unreachable_cases import (
    COMMAND_ERROR,
    JSON,
    NODES,
    PODS,
    REFUSED_REQUESTS,
    SET_UP,
    UPGRADE,
    RefusedRequest,
)

from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited
from kubeproto.wire import RawRequest, inflate
from kubeproto_httpx import BlockingHttpxTransport
from kubeproto_runtime import connect
from realserver import RealServer

pytestmark = pytest.mark.kubernetes("1.36")
_NONE: Mapping[str, str] = {}


class _Asker:
    def __init__(self, server: RealServer) -> None:
        self.transport = BlockingHttpxTransport(server.connection)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        media: str = JSON,
        headers: Mapping[str, str] = _NONE,
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        all_headers = {"Accept": JSON, "Content-Type": media, **headers}
        with self.transport.send(
            RawRequest(method, target, tuple(all_headers.items()), data), timeout=30
        ) as incoming:
            return incoming.status, json.loads(inflate(incoming.headers, b"".join(incoming)))


@pytest.fixture(scope="module")
def asker(real_server: RealServer) -> Generator[_Asker]:
    asker = _Asker(real_server)
    names = ("nowhere", "bare", "addressed")
    try:
        for step in SET_UP:
            assert asker.ask(*step)[0] in (200, 201)
        yield asker
    finally:
        for name in names:
            asker.ask("DELETE", f"{PODS}/on-{name}?gracePeriodSeconds=0")
            asker.ask("DELETE", f"{NODES}/{name}")
        asker.transport.close()


@pytest.mark.parametrize(
    "case", REFUSED_REQUESTS, ids=[f"{case.node}-{case.path}" for case in REFUSED_REQUESTS]
)
def test_logs_and_commands_are_refused_without_a_kubelet(asker: _Asker, case: RefusedRequest) -> None:
    code, status = asker.ask("GET", case.target, headers=UPGRADE if case.is_upgrade else _NONE)
    assert (code, status["message"]) == (case.code, case.message)


def test_the_missing_kubelet_is_reported_after_the_upgrade(asker: _Asker, real_server: RealServer) -> None:
    async def main() -> list[str]:
        async with (
            connect(kubeconfig=real_server.kubeconfig, context="admin") as client,
            client.api(Pod).exec("on-addressed", ["ls"]) as process,
        ):
            return [event.status.message async for event in process if isinstance(event, Exited)]

    assert anyio.run(main) == [COMMAND_ERROR]
