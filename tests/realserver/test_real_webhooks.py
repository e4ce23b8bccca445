"""The real server calls webhooks of the runtime, in the scenarios of the simulated one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from webhook_scenarios import (
    Hooked,
    a_certificate_is_renewed_under_load,
    books_are_admitted_defaulted_and_refused,
    books_are_converted,
    hooked,
)

from kubeproto_httpx import HttpxTransport
from realserver import RealServer


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_webhooks_admit_default_refuse_convert_and_renew_their_certificate(
    real_server: RealServer, backend: str
) -> None:
    scenarios: dict[str, list[Callable[[Hooked], Awaitable[None]]]] = {
        "asyncio": [books_are_admitted_defaulted_and_refused, books_are_converted],
        "trio": [a_certificate_is_renewed_under_load, books_are_converted],
    }

    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport, hooked(transport) as here:
            for scenario in scenarios[backend]:
                await scenario(here)

    anyio.run(main, backend=backend)
