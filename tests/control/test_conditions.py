"""Conditions, statuses and owners: written only when they differ, refused where a server refuses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kubeproto as kp
from kubeproto.control import (
    is_controlled_by,
    owner_reference,
    set_condition,
)
from kubeproto.kinds.apps_v1 import DeploymentCondition
from kubeproto.kinds.core_v1 import ConfigMap, Namespace, PodCondition
from kubeproto.kinds.meta_v1 import Condition
from kubeproto.objects import OwnerReference

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def ready(
    status: str = "True", *, transition_time: datetime | None = None, generation: int = 1, **fields: str
) -> Condition:
    texts = {"reason": "Works", "message": ""} | fields
    return Condition(
        type="Ready",
        status=status,
        last_transition_time=transition_time,
        observed_generation=generation,
        **texts,
    )


def test_a_new_condition_begins_now_or_at_its_own_time() -> None:
    conditions: list[Condition] = []
    assert set_condition(conditions, ready(), now=NOW)
    assert conditions == [ready(transition_time=NOW)]
    other = Condition(type="Synced", status="True", reason="R", message="", last_transition_time=THEN)
    assert set_condition(conditions, other, now=NOW)
    assert conditions == [ready(transition_time=NOW), other]


@pytest.mark.parametrize(
    ("new", "expected", "changed"),
    [
        pytest.param(ready(), ready(transition_time=THEN), False, id="the same"),
        pytest.param(
            ready(transition_time=NOW), ready(transition_time=THEN), False, id="the same at another time"
        ),
        pytest.param(ready("False"), ready("False", transition_time=NOW), True, id="another status"),
        pytest.param(
            ready(generation=2), ready(transition_time=THEN, generation=2), True, id="another generation"
        ),
        pytest.param(
            ready(message="m"), ready(transition_time=THEN, message="m"), True, id="another message"
        ),
        pytest.param(ready(reason="R"), ready(transition_time=THEN, reason="R"), True, id="another reason"),
    ],
)
def test_the_time_of_transition_moves_only_with_the_status(
    new: Condition, expected: Condition, changed: bool
) -> None:
    first = Condition(type="First", status="True", reason="R", message="")
    conditions = [first, ready(transition_time=THEN)]
    assert set_condition(conditions, new, now=NOW) is changed
    assert conditions == [first, expected]


def test_a_condition_with_its_own_transition_time_keeps_it() -> None:
    conditions = [ready("False", transition_time=THEN)]
    later = datetime(2026, 3, 1, tzinfo=UTC)
    assert set_condition(conditions, ready(transition_time=later), now=NOW)
    assert conditions == [ready(transition_time=later)]


def test_kinds_with_their_own_condition_type_are_supported() -> None:
    pod = [PodCondition(type="Ready", status="False")]
    assert set_condition(pod, PodCondition(type="Ready", status="True"), now=NOW)
    assert pod[0].last_transition_time == NOW
    deployment: list[DeploymentCondition] = []
    set_condition(deployment, DeploymentCondition(type="Available", status="True"), now=NOW)
    assert [condition.status for condition in deployment] == ["True"]


# Owners


def config(name: str = "owner", namespace: str = "n", uid: str = "u") -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, namespace=namespace, uid=uid))


def owned(namespace: str = "n", *owners: OwnerReference) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name="child", namespace=namespace, owner_references=[*owners]))


CLUSTER = Namespace(metadata=kp.ObjectMeta(name="all", uid="c"))


def test_a_reference_names_its_owner() -> None:
    assert owner_reference(config(), dependent=owned()) == OwnerReference(
        api_version="v1", kind="ConfigMap", name="owner", uid="u", controller=True, block_owner_deletion=True
    )
    plain = owner_reference(config(), controller=False, block=False)
    assert kp.encode(plain) == b'{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"u"}'


def test_a_cluster_scoped_owner_owns_objects_in_any_namespace() -> None:
    for namespace in ("n", ""):
        assert owner_reference(CLUSTER, dependent=owned(namespace)).uid == "c"


@pytest.mark.parametrize(
    ("owner", "child", "message"),
    [
        (config(), owned("m"), "n/owner cannot own ConfigMap 'child' in namespace 'm'"),
        (config(), CLUSTER, "cannot own Namespace 'all' in no namespace"),
        (config(uid=""), None, "create it first"),
        (config(name=""), None, "it lacks apiVersion"),
        (config(), config(), "cannot own itself"),
        (
            config(),
            owned("n", owner_reference(config("first", uid="f"))),
            "already has a controller, ConfigMap 'first'",
        ),
    ],
)
def test_owners_that_a_server_refuses_are_refused(
    owner: kp.KubeObject, child: kp.KubeObject | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        owner_reference(owner, dependent=child)


def test_an_object_is_controlled_by_the_owner_of_its_reference() -> None:
    child = owned("n", owner_reference(CLUSTER, controller=False), owner_reference(config()))
    assert is_controlled_by(child, config())
    assert not is_controlled_by(child, CLUSTER)
    assert not is_controlled_by(child, config(uid="later"))
    assert not is_controlled_by(owned(), config())


def test_a_second_plain_owner_and_the_same_controller_again_are_accepted() -> None:
    child = owned("n", owner_reference(config("first", uid="f")), owner_reference(CLUSTER, controller=False))
    assert owner_reference(config(), controller=False, dependent=child).controller is None
    assert owner_reference(config("first", uid="f"), dependent=child).uid == "f"
