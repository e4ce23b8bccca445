"""Shards: each object is in exactly one shard, and the selector of a server is recognised."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.objects import ListMeta, ShardInfo
from kubeproto.requests import Shard


def test_the_hash_is_fnv_1a() -> None:
    # From the test suite of its authors: http://www.isthe.com/chongo/src/fnv/test_fnv.c
    hashes = {"": 0xCBF29CE484222325, "a": 0xAF63DC4C8601EC8C, "foobar": 0x85944171F73967E8}
    for text, expected_hash in hashes.items():
        assert Shard("uid", ((expected_hash, expected_hash + 1),)).contains(kp.ObjectMeta(uid=text))


@given(count=st.integers(1, 40), uid=st.text(max_size=12), by=st.sampled_from(["uid", "namespace"]))
def test_each_object_is_in_exactly_one_shard(count: int, uid: str, by: str) -> None:
    metadata = kp.ObjectMeta(uid=uid) if by == "uid" else kp.ObjectMeta(namespace=uid)
    shards = [Shard.of(index, count, by="uid" if by == "uid" else "namespace") for index in range(count)]
    assert sum(shard.contains(metadata) for shard in shards) == 1


@given(count=st.integers(1, 40), data=st.data())
def test_a_formatted_shard_is_parsed_back(count: int, data: st.DataObject) -> None:
    shard = Shard.of(data.draw(st.integers(0, count - 1)), count)
    doubled = Shard("uid", shard.ranges * 2)
    assert Shard.parse(str(shard)) == shard
    assert Shard.parse(str(doubled).replace("'", '"').replace(", ", ",")) == doubled


def test_the_normal_form_equals_that_of_a_server() -> None:
    assert (
        str(Shard.of(0, 2)) == "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    )
    assert str(Shard.of(1, 2, by="namespace")) == (
        "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')"
    )


def test_a_server_that_does_not_return_the_selector_lacks_shards() -> None:
    shard = Shard.of(0, 2)
    assert not shard.confirmed_by(ListMeta())
    assert not shard.confirmed_by(ListMeta(shard_info=ShardInfo(selector=str(Shard.of(1, 2)))))
    assert shard.confirmed_by(ListMeta(shard_info=ShardInfo(selector=str(shard))))


@pytest.mark.parametrize(
    "text",
    [
        "shardRange(object.metadata.uid,'0x0','0x8000000000000000')",
        "shardRange(object.metadata.name,'0x0000000000000000','0x8000000000000000')",
        "shardRange(object.metadata.uid,'0x000000000000000A','0x8000000000000000')",
        "shardRange(object.metadata.uid,'0x8000000000000000','0x0000000000000000')",
        "shardRange(object.metadata.uid,'0x0000000000000000\",'0x8000000000000000')",
        "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000') || ",
        (
            "shardRange(object.metadata.uid,'0x0000000000000000','0x1000000000000000')"
            "||shardRange(object.metadata.namespace,'0x0000000000000000','0x1000000000000000')"
        ),
    ],
)
def test_selectors_that_cause_a_500_on_a_server_are_refused(text: str) -> None:
    with pytest.raises(kp.InvalidRequest):
        Shard.parse(text)


@pytest.mark.parametrize(("index", "count"), [(-1, 2), (2, 2), (0, 0)])
def test_a_shard_index_must_be_less_than_the_count(index: int, count: int) -> None:
    with pytest.raises(kp.InvalidRequest):
        Shard.of(index, count)
