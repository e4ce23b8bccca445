"""Following on either server: through what is forgotten and what ends, and up against what is forbidden."""

from __future__ import annotations

import logging

import pytest

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, bare_rig, beside, rig, ship, told, until
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.kinds.rbac_authorization_v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from kubeproto.watching import resync
from kubeproto_runtime import Action, Caches, Client, Context, Controller, await_change

__all__ = ["bare_rig", "rig"]

FORMS = pytest.mark.parametrize(
    "settings", [resync.Settings(), resync.Settings(streaming=False)], ids=["streaming-list", "list-watch"]
)


@FORMS
def test_who_follows_through_a_compaction_and_a_restart_is_told_exactly_what_has_changed(
    bare_rig: Rig, settings: resync.Settings
) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        for name in ("ann", "bob", "cid"):
            await ships.create(ship(name))
        async with ships.follow(settings=settings) as events:
            lines = [told(await anext(events)) for _ in range(4)]
            assert (sorted(lines[:3]), lines[3]) == (["added ann", "added bob", "added cid"], "Bookmark")

            # Nobody iterates meanwhile, so that the watch ends without having told of it.
            await bare_rig.restart()
            async with bare_rig.client() as other:
                others = other.api(Ship)
                await others.delete("ann")
                await others.merge_patch("bob", {"spec": {"crew": 31}})
                await others.create(ship("dan"))
            bare_rig.compact()
            lines = [told(await anext(events)) for _ in range(4)]
            assert lines == ["deleted ann", "modified bob", "added dan", "Bookmark"]

            await ships.delete("cid")
            assert told(await anext(events)) == "deleted cid"

    bare_rig.run(main, Ship)


def test_a_cache_and_a_controller_go_on_after_a_restart(bare_rig: Rig) -> None:
    async def main(client: Client) -> None:
        seen: list[tuple[str, int]] = []

        async def look(obj: Ship, ctx: Context[None]) -> Action:
            seen.append((obj.metadata.name, obj.spec.crew))
            return await_change()

        ships = client.api(Ship)
        await ships.create(ship(crew=1))
        async with (
            Caches(client) as caches,
            beside(lambda: Controller(client, Ship, namespace=bare_rig.namespace).run(look)),
        ):
            cache = caches.cache(Ship)
            await cache.wait_synced()
            await until(lambda: ("pequod", 1) in seen)
            await bare_rig.restart()
            bare_rig.compact()
            changed = await ships.merge_patch("pequod", {"spec": {"crew": 2}})
            await cache.reached(changed.metadata.resource_version, timeout=60)
            mine = cache.get("pequod", bare_rig.namespace)
            assert mine is not None
            assert mine.spec.crew == 2
            await until(lambda: ("pequod", 2) in seen)
        assert seen.count(("pequod", 1)) >= 1
        assert seen[-1] == ("pequod", 2)

    bare_rig.run(main, Ship)


def test_what_is_forbidden_is_said_in_the_servers_own_words(rig: Rig) -> None:
    async def main(client: Client) -> None:
        await client.api(Ship).create(ship())
        async with rig.client("nobody") as nobody:
            ships = nobody.api(Ship)
            with pytest.raises(kp.Forbidden) as listed:
                await ships.list()
            assert (
                'ships.runtime.example.com is forbidden: User "nobody" cannot list resource "ships" in API'
                f' group "runtime.example.com" in the namespace "{rig.namespace}"'
            ) in str(listed.value)
            with pytest.raises(kp.Forbidden, match=r'"pequod" is forbidden: .* cannot get resource "ships"'):
                await ships.get_or_none("pequod")
            with pytest.raises(kp.Forbidden, match='cannot create resource "configmaps"'):
                await nobody.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="a")))
            with pytest.raises(kp.Forbidden, match='cannot get resource "ships"'):
                await ships.wait_for("pequod", lambda one: True, timeout=5)

    rig.run(main, Ship)


def test_a_cache_that_is_forbidden_says_why_and_waits_until_it_is_allowed(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kubeproto")

    async def main(client: Client) -> None:
        await client.api(Ship).create(ship())
        async with rig.client("nobody") as nobody, Caches(nobody) as caches:
            cache = caches.cache(Ship, namespace=rig.namespace)
            await until(lambda: 'User "nobody" cannot' in cache.sync_status.reason)
            with pytest.raises(kp.DeadlineExceeded, match='User "nobody" cannot'):
                await cache.wait_synced(timeout=0.5)
            assert not cache.synced
            with pytest.raises(kp.LocalProtocolError, match='User "nobody" cannot'):
                len(cache)
            assert 'User "nobody" cannot' in cache.sync_status.reason
            await allow(client)
            await cache.wait_synced(timeout=60)
            assert [one.metadata.name for one in cache] == ["pequod"]
        assert 'User "nobody" cannot' in caplog.text

    async def allow(client: Client) -> None:
        rule = PolicyRule(
            verbs=["get", "list", "watch"], api_groups=["runtime.example.com"], resources=["ships"]
        )
        await client.api(Role).create(Role(metadata=kp.ObjectMeta(name="crew"), rules=[rule]))
        group = "rbac.authorization.k8s.io"
        binding = RoleBinding(
            metadata=kp.ObjectMeta(name="crew"),
            role_ref=RoleRef(api_group=group, kind="Role", name="crew"),
            subjects=[Subject(api_group=group, kind="User", name="nobody")],
        )
        await client.api(RoleBinding).create(binding)

    rig.run(main, Ship)


def test_a_controller_that_is_forbidden_ends_when_its_patience_does_and_says_why(rig: Rig) -> None:
    async def main(client: Client) -> None:
        async def look(obj: Ship, ctx: Context[None]) -> Action:
            return await_change()

        async with rig.client("nobody") as nobody:
            controller = Controller(nobody, Ship, namespace=rig.namespace, sync_timeout=6.0)
            with pytest.raises(kp.DeadlineExceeded, match=r'403 Forbidden: .*User "nobody" cannot'):
                await controller.run(look)

    rig.run(main, Ship)
