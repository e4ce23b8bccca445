"""The real server calls webhooks of the runtime in the same scenarios as the simulated server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from webhook_scenarios import (
    ServerWithWebhooks,
    admit_default_and_refuse_books,
    convert_books,
    renew_a_certificate_under_load,
    run_webhooks,
)

from kubeproto_httpx import HttpxTransport
from realserver import RealServer


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_webhooks_admit_default_refuse_convert_and_renew_their_certificate(
    real_server: RealServer, backend: str
) -> None:
    scenarios: dict[str, list[Callable[[ServerWithWebhooks], Awaitable[None]]]] = {
        "asyncio": [admit_default_and_refuse_books, convert_books],
        "trio": [renew_a_certificate_under_load, convert_books],
    }

    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport, run_webhooks(transport) as hooks:
            for scenario in scenarios[backend]:
                await scenario(hooks)

    anyio.run(main, backend=backend)
