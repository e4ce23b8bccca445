"""Following on either server: after expired versions, ended watches, and refusals."""

from __future__ import annotations

import logging

import pytest

import kubeproto as kp
from conformance.runtime_interface import (
    Rig,
    Ship,
    bare_rig,
    describe_event,
    poll_until,
    rig,
    running_beside,
    ship,
)
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.kinds.rbac_authorization_v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from kubeproto.watching import resync
from kubeproto_runtime import Action, Caches, Client, Context, Controller, await_change

__all__ = ["bare_rig", "rig"]

FORMS = pytest.mark.parametrize(
    "settings", [resync.Settings(), resync.Settings(streaming=False)], ids=["streaming-list", "list-watch"]
)


@FORMS
def test_a_follower_gets_exactly_the_changes_through_a_compaction_and_a_restart(
    bare_rig: Rig, settings: resync.Settings
) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        for name in ("ann", "bob", "cid"):
            await ships.create(ship(name))
        async with ships.follow(settings=settings) as events:
            lines = [describe_event(await anext(events)) for _ in range(4)]
            assert (sorted(lines[:3]), lines[3]) == (["added ann", "added bob", "added cid"], "Bookmark")

            # The events are not read in the meantime, so that the watch ends without the deletion.
            await bare_rig.restart()
            async with bare_rig.client() as other:
                others = other.api(Ship)
                await others.delete("ann")
                await others.merge_patch("bob", {"spec": {"crew": 31}})
                await others.create(ship("dan"))
            bare_rig.compact()
            lines = [describe_event(await anext(events)) for _ in range(4)]
            assert lines == ["deleted ann", "modified bob", "added dan", "Bookmark"]

            await ships.delete("cid")
            assert describe_event(await anext(events)) == "deleted cid"

    bare_rig.run(main, Ship)


def test_a_cache_and_a_controller_continue_after_a_restart(bare_rig: Rig) -> None:
    async def main(client: Client) -> None:
        reconciled: list[tuple[str, int]] = []

        async def poll(obj: Ship, ctx: Context[None]) -> Action:
            reconciled.append((obj.metadata.name, obj.spec.crew))
            return await_change()

        ships = client.api(Ship)
        await ships.create(ship(crew=1))
        async with (
            Caches(client) as caches,
            running_beside(lambda: Controller(client, Ship, namespace=bare_rig.namespace).run(poll)),
        ):
            cache = caches.cache(Ship)
            await cache.wait_synced()
            await poll_until(lambda: ("pequod", 1) in reconciled)
            await bare_rig.restart()
            bare_rig.compact()
            changed = await ships.merge_patch("pequod", {"spec": {"crew": 2}})
            await cache.reached(changed.metadata.resource_version, timeout=60)
            mine = cache.get("pequod", bare_rig.namespace)
            assert mine is not None
            assert mine.spec.crew == 2
            await poll_until(lambda: ("pequod", 2) in reconciled)
        assert reconciled.count(("pequod", 1)) >= 1
        assert reconciled[-1] == ("pequod", 2)

    bare_rig.run(main, Ship)


def test_a_refusal_has_the_message_of_the_server(rig: Rig) -> None:
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
                await ships.wait_for("pequod", lambda obj: True, timeout=5)

    rig.run(main, Ship)


def test_a_forbidden_cache_reports_the_reason_and_waits_for_permission(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kubeproto")

    async def main(client: Client) -> None:
        await client.api(Ship).create(ship())
        async with rig.client("nobody") as nobody, Caches(nobody) as caches:
            cache = caches.cache(Ship, namespace=rig.namespace)
            await poll_until(lambda: 'User "nobody" cannot' in cache.sync_status.reason)
            with pytest.raises(kp.DeadlineExceeded, match='User "nobody" cannot'):
                await cache.wait_synced(timeout=0.5)
            assert not cache.synced
            with pytest.raises(kp.LocalProtocolError, match='User "nobody" cannot'):
                len(cache)
            assert 'User "nobody" cannot' in cache.sync_status.reason
            await allow(client)
            await cache.wait_synced(timeout=60)
            assert [obj.metadata.name for obj in cache] == ["pequod"]
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


def test_a_forbidden_controller_ends_after_its_timeout_with_the_reason(rig: Rig) -> None:
    async def main(client: Client) -> None:
        async def poll(obj: Ship, ctx: Context[None]) -> Action:
            return await_change()

        async with rig.client("nobody") as nobody:
            controller = Controller(nobody, Ship, namespace=rig.namespace, sync_timeout=6.0)
            with pytest.raises(kp.DeadlineExceeded, match=r'403 Forbidden: .*User "nobody" cannot'):
                await controller.run(poll)

    rig.run(main, Ship)
