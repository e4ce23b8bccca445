"""Strategic merge patches: maps, lists by their keys, and the directives."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from apply_cases import DEPLOYMENT, POD, SERVICE

from kubeproto.objects import GroupVersionKind
from kubeproto_sim.apply import SCHEMALESS, MergeSchema, PatchRejection, merge_schema_of_kind, strategic_merge

DISRUPTION_BUDGET = merge_schema_of_kind(GroupVersionKind("policy", "v1", "PodDisruptionBudget"))
META = "metadata"

Map = dict[str, Any]


def containers(*entries: Map) -> Map:
    return {"spec": {"containers": [*entries]}}


ROWS: list[tuple[str, MergeSchema, Map, Map, Map]] = [
    (
        "maps are merged",
        POD,
        {META: {"labels": {"a": "1"}}},
        {META: {"labels": {"b": "2"}}},
        {META: {"labels": {"a": "1", "b": "2"}}},
    ),
    (
        "null deletes",
        POD,
        {META: {"labels": {"a": "1", "b": "2"}}},
        {META: {"labels": {"b": None}}},
        {META: {"labels": {"a": "1"}}},
    ),
    (
        "nulls of what was not there are dropped",
        POD,
        {},
        {META: {"labels": {"a": "1", "b": None}}},
        {META: {"labels": {"a": "1"}}},
    ),
    (
        "another kind of value takes the place",
        POD,
        {"spec": "x"},
        {"spec": {"nodeName": "n"}},
        {"spec": {"nodeName": "n"}},
    ),
    (
        "lists are merged by key",
        POD,
        containers({"name": "a", "image": "1"}, {"name": "b"}),
        containers({"name": "a", "image": "2"}),
        containers({"name": "a", "image": "2"}, {"name": "b"}),
    ),
    (
        "new elements come before those that the patch does not name",
        POD,
        containers({"name": "a"}),
        containers({"name": "b"}),
        containers({"name": "b"}, {"name": "a"}),
    ),
    (
        "an element is deleted by its key",
        POD,
        containers({"name": "a"}, {"name": "b"}),
        containers({"name": "a", "$patch": "delete"}),
        containers({"name": "b"}),
    ),
    (
        "a list is replaced on demand",
        POD,
        containers({"name": "a"}, {"name": "b"}),
        containers({"$patch": "replace"}, {"name": "c"}),
        containers({"name": "c"}),
    ),
    (
        "a list without a key is replaced",
        POD,
        {"spec": {"tolerations": [{"key": "a"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
    ),
    (
        "a map is replaced on demand",
        POD,
        {META: {"labels": {"a": "1"}}},
        {META: {"labels": {"$patch": "replace", "b": "2"}}},
        {META: {"labels": {"b": "2"}}},
    ),
    (
        "a map is emptied on demand",
        POD,
        {META: {"labels": {"a": "1"}}},
        {META: {"labels": {"$patch": "delete"}}},
        {META: {"labels": {}}},
    ),
    (
        "a field that is replaced as a whole",
        DISRUPTION_BUDGET,
        {"spec": {"selector": {"matchLabels": {"a": "1"}}}},
        {"spec": {"selector": {"matchLabels": {"b": "1"}}}},
        {"spec": {"selector": {"matchLabels": {"b": "1"}}}},
    ),
    (
        "primitives are added once",
        POD,
        {META: {"finalizers": ["a/x", "b/x"]}},
        {META: {"finalizers": ["b/x", "c/x"]}},
        {META: {"finalizers": ["a/x", "b/x", "c/x"]}},
    ),
    (
        "primitives are taken out",
        POD,
        {META: {"finalizers": ["a/x", "b/x"]}},
        {META: {"$deleteFromPrimitiveList/finalizers": ["a/x", "z/x"]}},
        {META: {"finalizers": ["b/x"]}},
    ),
    (
        "taking out of a list that is not there",
        POD,
        {META: {}},
        {META: {"$deleteFromPrimitiveList/finalizers": ["a/x"]}},
        {META: {}},
    ),
    (
        "primitives are ordered",
        POD,
        {META: {"finalizers": ["a/x", "b/x"]}},
        {META: {"$setElementOrder/finalizers": ["c/x", "b/x", "a/x"], "finalizers": ["c/x"]}},
        {META: {"finalizers": ["c/x", "b/x", "a/x"]}},
    ),
    (
        "elements are ordered, those of the server keep their place",
        POD,
        containers({"name": "s"}, {"name": "a"}, {"name": "b"}, {"name": "t"}),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "n"}, {"name": "a"}],
                "containers": [{"name": "n", "image": "1"}],
            }
        },
        containers({"name": "s"}, {"name": "b"}, {"name": "n", "image": "1"}, {"name": "a"}, {"name": "t"}),
    ),
    (
        "an order alone sorts what is there",
        POD,
        containers({"name": "a"}, {"name": "b"}),
        {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
        containers({"name": "b"}, {"name": "a"}),
    ),
    (
        "an order for nothing",
        POD,
        {"spec": {}},
        {"spec": {"$setElementOrder/containers": [{"name": "b"}]}},
        {"spec": {}},
    ),
    (
        "elements are ordered while one goes",
        POD,
        containers({"name": "a"}, {"name": "b"}),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
                "containers": [{"name": "c"}, {"name": "b", "$patch": "delete"}],
            }
        },
        containers({"name": "c"}, {"name": "a"}),
    ),
    (
        "only retained keys stay",
        DEPLOYMENT,
        {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"strategy": {"type": "Recreate"}}},
    ),
    (
        "elements retain keys, too",
        POD,
        {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        {
            "spec": {
                "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]
            }
        },
        {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}},
    ),
    (
        "directives of what was not there are dropped",
        POD,
        {},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}],
                "containers": [{"name": "a", "$retainKeys": ["name"]}, {"name": "b", "$patch": "delete"}],
            }
        },
        containers({"name": "a"}),
    ),
    (
        "a port is known by its number",
        SERVICE,
        {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81}]}},
        {"spec": {"ports": [{"port": 80, "targetPort": "x"}]}},
        {"spec": {"ports": [{"port": 80, "name": "a", "targetPort": "x"}, {"port": 81}]}},
    ),
    (
        "keys are compared by value and kind",
        SERVICE,
        {"spec": {"ports": [{"port": 80}]}},
        {"spec": {"ports": [{"port": "80"}]}},
        {"spec": {"ports": [{"port": "80"}, {"port": 80}]}},
    ),
    ("an empty list over an empty list", POD, containers(), containers(), containers()),
    (
        "where nothing is known lists are replaced",
        SCHEMALESS,
        {"a": [{"name": "x"}]},
        {"a": [{"name": "y"}]},
        {"a": [{"name": "y"}]},
    ),
]


@pytest.mark.parametrize(
    ("schema", "current", "patch", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_sv_19_a_strategic_patch_merges_by_the_keys_of_the_kind(
    schema: MergeSchema, current: Map, patch: Map, expected: Map
) -> None:
    unchanged, change = deepcopy(current), deepcopy(patch)
    assert strategic_merge(current, patch, schema) == expected
    assert (current, patch) == (unchanged, change)


def element_order(*names: Any) -> Map:
    return {"$setElementOrder/containers": [{"name": name} for name in names]}


REFUSALS: list[tuple[str, Map, int, str]] = [
    (
        "an element without its key",
        containers({"image": "1"}),
        500,
        "map: map[image:1] does not contain declared merge key: name",
    ),
    (
        "a deletion without a key",
        containers({"$patch": "delete"}),
        500,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    (
        "an unknown directive",
        {"spec": {"$patch": "shred"}},
        500,
        "unknown patch type: shred in map: map[$patch:shred]",
    ),
    (
        "a directive that a map does not know",
        {"spec": {"$patch": "merge"}},
        500,
        "unknown patch type: merge in map: map[$patch:merge]",
    ),
    (
        "an unknown directive in a list",
        containers({"$patch": "x", "name": "a"}),
        500,
        "unknown patch type: x in map: map[$patch:x name:a]",
    ),
    (
        "a list that shall be merged",
        containers({"$patch": "merge"}),
        500,
        "merging lists cannot yet be specified in the patch",
    ),
    (
        "lists in a list",
        {"spec": {"containers": [[]]}},
        422,
        "the server rejected our request due to an error in our request",
    ),
    (
        "maps and scalars in a list",
        {"spec": {"containers": ["a"]}},
        500,
        "list element types are not identical",
    ),
    (
        "keys that are not retained",
        {"spec": {"$retainKeys": ["a"], "nodeName": "n"}},
        400,
        "invalid patch format of retainKeys",
    ),
    (
        "retained keys that are not a list",
        {"spec": {"$retainKeys": "a"}},
        400,
        "invalid patch format of retainKeys",
    ),
    (
        "a deletion from nowhere",
        {"spec": {"$deleteFromPrimitiveList": ["a"]}},
        400,
        "invalid patch format of primitive list",
    ),
    (
        "an order of nothing",
        {"spec": {"$setElementOrder": ["a"]}},
        400,
        "invalid patch format of setElementOrder list",
    ),
    (
        "an order that is not a list",
        {"spec": {"$setElementOrder/containers": {}}},
        500,
        "expected a []interface {}, but received a map[string]interface {}",
    ),
    (
        "an order of a null",
        {"spec": {**element_order("a"), "containers": None}},
        500,
        "expected a []interface {}, but received a %!s(<nil>)",
    ),
    (
        "an order against that of the patch",
        {"spec": {**element_order("a", "b"), "containers": [{"name": "b"}, {"name": "a"}]}},
        500,
        (
            "The order in patch list:\n[map[name:b] map[name:a]]\n"
            " doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n"
        ),
    ),
]


@pytest.mark.parametrize(
    ("patch", "code", "message"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_an_invalid_patch_is_refused_in_a_servers_words(patch: Map, code: int, message: str) -> None:
    with pytest.raises(PatchRejection) as caught:
        strategic_merge(containers({"name": "a"}), patch, POD)
    assert (caught.value.code, caught.value.message) == (code, message)
