"""Results of user functions are checked when they are returned, because users may not run a type checker."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

from kubeproto import ObjectMeta
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Context, Controller
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


@pytest.mark.parametrize("keys", ["default/moby", [3], [["default/moby"]], [None]])
def test_a_mapping_to_other_values_than_keys_is_logged_and_enqueues_nothing(
    keys: Any, go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    reconciled: list[str] = []

    async def reconcile(key: str, ctx: Context[None]) -> None:
        reconciled.append(key)

    async def main() -> None:
        cluster = library()
        cluster.put(ConfigMap(metadata=ObjectMeta(name="card", namespace="default")))
        async with simulated(cluster) as client:
            controller = Controller(client, Book).watches(ConfigMap, lambda _: keys)
            client.start(controller.run_keys(reconcile))
            await anyio.sleep(5)
            cluster.put(book())
            await anyio.sleep(5)

    with caplog.at_level(logging.ERROR, "kubeproto.controller.book"):
        go(main)
    assert reconciled == ["default/moby"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the function must return a list of keys" in caplog.text


def test_an_on_error_that_returns_no_action_is_reported_and_the_backoff_applies(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    runs = 0

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        nonlocal runs
        runs += 1
        raise LookupError("no shelf")

    def on_error(error: Exception, ctx: Context[None]) -> Any:
        return 5

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(reconcile, on_error=on_error))
            await client.until(lambda: runs >= 3, within=60)

    go(main)
    [first, *_] = [record for record in caplog.records if "on_error failed" in record.getMessage()]
    assert first.exc_info is not None
    assert "on_error returned 5: return requeue" in str(first.exc_info[1])
