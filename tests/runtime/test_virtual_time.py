"""Virtual time stands still while a thread works for the loop."""

from __future__ import annotations

import anyio

from kubeproto_runtime.testing import run


def test_look_ups_of_addresses_take_no_virtual_time() -> None:
    async def body() -> float:
        began, passed = anyio.current_time(), -1.0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 1000)
            for _ in range(300):  # one may be found before the loop looks
                await anyio.getaddrinfo("127.0.0.1", 80)
            passed = anyio.current_time() - began
            tasks.cancel_scope.cancel()
        return passed

    assert run(body) == 0
