"""A credentials plugin that raises each time costs a run of it now and then, and no more."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Config, Connection, Identity, Plugin, credentials as c
from kubeproto_runtime import Context, Controller, Operator
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Pages(kp.Fields):
    pages: int = 0


class Book(kp.Object[Pages, None], group="example.com", version="v1"):
    """What is followed."""


class Mistaken(AuthorizedTransport):
    """Its plugin raises; `asked` counts how often it was wanted, and by whom."""

    runs = waits = 0

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, c.RunPlugin):
            self.runs += 1
            raise NameError("a mistake in the plugin")
        self.waits += 1
        if self.waits > 10_000:
            pytest.fail("requests ask for credentials again and again")
        return await super()._perform(effect)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_plugin_that_always_raises_is_run_once_a_minute(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        async with simulated(cluster) as client:
            inner = client.transport

            @asynccontextmanager
            async def opener(_: Connection) -> AsyncGenerator[kp.Transport]:
                yield inner

            identity = Identity(plugin=Plugin(command="login"))
            config = Config(connection=Connection(server="https://cluster.test"), identity=identity)
            transport = Mistaken(config, opener, clock=lambda: client.wall_clock().timestamp())
            client.transport = transport

            async def reconcile(book: Book, ctx: Context[None]) -> None:
                raise AssertionError("nothing can be listed")

            election = LeaderElector(client, name="books", identity="one")
            operator = Operator(election=election)
            controller = Controller(client, Book, sync_timeout=3600.0)
            client.start(operator.run(controller.run(reconcile)))
            await anyio.sleep(1800)
            operator.stop()
            await anyio.sleep(60)
            assert 30 <= transport.runs <= 40  # after 1, 2, 4 … 60 seconds
            assert transport.waits <= 5 * transport.runs
            await transport.aclose()

    with caplog.at_level(logging.INFO, "kubeproto"):
        run(main, backend=backend)
    said = [record.getMessage() for record in caplog.records if record.name == "kubeproto.credentials"]
    assert said == ["the plugin 'login': it ended with NameError"]
