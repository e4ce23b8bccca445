"""Verbs that a kind has not, as mypy refuses them on a client; the ignored errors are half of the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from virtual_time import Go, go, scripted

import kubeproto as kp
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime.client import BoundApi

__all__ = ["go"]


async def enter(context: AbstractAsyncContextManager[object]) -> None:
    async with context:
        pass


REFUSED: list[Callable[[BoundApi[ConfigMap]], Awaitable[object]]] = [
    lambda api: api.log("a"),  # type: ignore[arg-type]
    lambda api: enter(api.follow_log("a")),  # type: ignore[arg-type]
    lambda api: enter(api.exec("a", ["ls"])),  # type: ignore[arg-type]
    lambda api: enter(api.attach("a")),  # type: ignore[arg-type]
    lambda api: enter(api.port_forward("a", [80])),  # type: ignore[arg-type]
    lambda api: api.evict("a"),  # type: ignore[arg-type]
    lambda api: api.create_token("a"),  # type: ignore[arg-type]
    lambda api: api.finalize(ConfigMap()),  # type: ignore[misc]
    lambda api: api.status.get("a"),  # type: ignore[misc]
    lambda api: api.scale.get("a"),  # type: ignore[misc]
]


@pytest.mark.parametrize("ask", REFUSED, ids=range(len(REFUSED)))
def test_mypy_refuses_a_verb_that_a_kind_has_not_and_so_does_the_client(
    go: Go, ask: Callable[[BoundApi[ConfigMap]], Awaitable[object]]
) -> None:
    async def main() -> None:
        client, wire = scripted((200, (), b""))
        with pytest.raises(kp.InvalidRequest, match="subresource"):
            await ask(client.api(ConfigMap))
        assert wire.asked == []

    go(main)
