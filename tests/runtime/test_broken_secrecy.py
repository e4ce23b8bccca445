"""The reprs of caches and events do not contain the content of a Secret."""

from __future__ import annotations

import anyio
from virtual_time import Go, go, library

from kubeproto import Malformed, ObjectMeta, Unknown
from kubeproto.kinds.core_v1 import Secret
from kubeproto_runtime import Caches
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def test_the_repr_of_a_change_does_not_contain_the_secret(go: Go) -> None:
    reprs: list[str] = []

    async def main() -> None:
        cluster = library()
        cluster.put(Secret(metadata=ObjectMeta(name="s", namespace="default"), string_data={"p": "hunter2"}))
        async with simulated(cluster) as client, Caches(client) as caches:
            secrets = caches.cache(Secret)
            secrets.listen(lambda changes: reprs.append(repr(changes)))
            await secrets.wait_synced()
            reprs.append(repr(secrets.entry("default/s")))
            await anyio.sleep(1)

    go(main)
    assert len(reprs) == 2
    assert all("default/s" in text or "CachedObject(version=" in text for text in reprs)
    assert not any("aHVudGVyMg" in text or "hunter2" in text for text in reprs)


def test_the_repr_of_an_unreadable_event_does_not_contain_its_content() -> None:
    broken = Malformed(None, ValueError("no object"), b'{"data":{"p":"aHVudGVyMg=="}}', "ADDED")
    assert repr(broken) == (
        "Malformed(metadata=None, error=ValueError('no object'), raw=<29 bytes>, type='ADDED')"
    )
    assert repr(Unknown("LATER", b"aHVudGVyMg==")) == "Unknown(type='LATER', raw=<12 bytes>)"
