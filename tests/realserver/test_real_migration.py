"""Objects of a real server are migrated to another stored version, and the old version can be removed."""

from __future__ import annotations

import anyio
from migration_scenarios import books_are_migrated

from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client
from realserver import RealServer

BOUND = 120.0


def test_migrated_objects_are_readable_after_the_removal_of_their_version(real_server: RealServer) -> None:
    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport:
            with anyio.fail_after(BOUND):
                await books_are_migrated(Client(transport))

    anyio.run(main)
