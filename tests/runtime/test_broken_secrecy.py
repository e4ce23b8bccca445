"""What a program prints or logs of a cache says nothing of what is in a Secret."""

from __future__ import annotations

import anyio
from virtual_time import Go, go, library

from kubeproto import Malformed, ObjectMeta, Unknown
from kubeproto.kinds.core_v1 import Secret
from kubeproto_runtime import Caches
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def test_the_changes_of_a_secret_do_not_show_it(go: Go) -> None:
    shown: list[str] = []

    async def main() -> None:
        cluster = library()
        cluster.put(Secret(metadata=ObjectMeta(name="s", namespace="default"), string_data={"p": "hunter2"}))
        async with simulated(cluster) as client, Caches(client) as caches:
            secrets = caches.cache(Secret)
            secrets.listen(lambda changes: shown.append(repr(changes)))
            await secrets.wait_synced()
            shown.append(repr(secrets.entry("default/s")))
            await anyio.sleep(1)

    go(main)
    assert len(shown) == 2
    assert all("default/s" in text or "CachedObject(version=" in text for text in shown)
    assert not any("aHVudGVyMg" in text or "hunter2" in text for text in shown)


def test_what_could_not_be_read_is_not_shown_either() -> None:
    broken = Malformed(None, ValueError("no object"), b'{"data":{"p":"aHVudGVyMg=="}}', "ADDED")
    assert repr(broken) == (
        "Malformed(metadata=None, error=ValueError('no object'), raw=<29 bytes>, type='ADDED')"
    )
    assert repr(Unknown("LATER", b"aHVudGVyMg==")) == "Unknown(type='LATER', raw=<12 bytes>)"
