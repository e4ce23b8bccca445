"""Stages: transitions that a test describes, for any kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from nodes_rig import Json, Rig

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto import LocalProtocolError


class PrintStatus(kp.Fields):
    phase: str = ""
    pages: int = 0


class PrintSpec(kp.Fields):
    color: bool = False


class Leaflet(kp.Object[PrintSpec, PrintStatus], group="example.com", version="v1", plural="leaflets"):
    """Something that is printed."""


def leaflet(name: str) -> Leaflet:
    return Leaflet(metadata=kp.ObjectMeta(name=name), spec=PrintSpec())


PRINTS = sim.Stage(
    kind=Leaflet, when={"status": {"phase": None}}, after=3, patch={"status": {"phase": "Printing"}}
)
DONE = sim.Stage(
    kind="example.com/v1/Leaflet", when={"status": {"phase": "Printing"}}, after=4,
    patch=lambda leaflet: {"status": {"phase": "Done", "pages": len(leaflet["metadata"]["name"])}},
)  # fmt: skip
BURNS = sim.Stage(
    kind=Leaflet, when=lambda leaflet: leaflet["metadata"].get("labels", {}).get("burn") == "yes", after=1,
    delete=True,
)  # fmt: skip


def cluster_with_stages(*stages: sim.Stage) -> sim.Cluster:
    cluster = sim.Cluster(crds=[Leaflet])
    cluster.put(leaflet("abc"))
    cluster.stages(*stages)
    return cluster


def phase(cluster: sim.Cluster, name: str = "abc") -> str:
    leaflet = cluster.get(Leaflet, name)
    assert leaflet is not None
    text: str = leaflet.get("status", {}).get("phase", "")
    return text


def test_an_object_goes_through_its_stages_each_after_its_delay() -> None:
    cluster = cluster_with_stages(PRINTS, DONE)
    cluster.settle()
    times: list[tuple[float, str]] = []
    start = cluster.now
    while cluster.next_due is not None:
        cluster.advance_to(cluster.next_due)
        times.append((cluster.now - start, phase(cluster)))
    assert times == [(3, "Printing"), (7, "Done")]
    leaflet = cluster.get(Leaflet, "abc")
    assert leaflet is not None
    assert leaflet["status"]["pages"] == 3


def test_later_objects_go_through_the_stages_too() -> None:
    cluster = cluster_with_stages(PRINTS)
    cluster.advance(2)
    cluster.put(leaflet("late"))
    cluster.advance(1)
    assert (phase(cluster), phase(cluster, "late")) == ("Printing", "")
    cluster.advance(2)
    assert phase(cluster, "late") == "Printing"


def test_a_change_that_does_not_affect_the_match_does_not_restart_the_delay() -> None:
    cluster = cluster_with_stages(PRINTS)
    cluster.advance(2)
    cluster.edit(Leaflet, "abc", lambda obj: obj["metadata"].update(labels={"a": "b"}))
    cluster.advance(1)
    assert phase(cluster) == "Printing"


def test_an_object_that_stops_matching_stays_as_it_is() -> None:
    cluster = cluster_with_stages(PRINTS)
    cluster.advance(2)
    cluster.edit(Leaflet, "abc", lambda obj: obj.update(status={"phase": "Refused"}))
    cluster.advance(60)
    assert phase(cluster) == "Refused"


def test_the_first_of_several_matching_stages_applies() -> None:
    cluster = cluster_with_stages(BURNS, PRINTS)
    cluster.edit(Leaflet, "abc", lambda obj: obj["metadata"].update(labels={"burn": "yes"}))
    cluster.advance(1)
    assert cluster.get(Leaflet, "abc") is None


def test_a_new_object_of_the_same_name_starts_at_the_first_stage() -> None:
    cluster = cluster_with_stages(PRINTS)
    cluster.advance(2)
    cluster.remove(Leaflet, "abc")
    cluster.put(leaflet("abc"))
    cluster.advance(2)
    assert phase(cluster) == ""
    cluster.advance(1)
    assert phase(cluster) == "Printing"


def test_a_forked_and_a_restored_cluster_keep_their_stages() -> None:
    cluster = cluster_with_stages(PRINTS)
    cluster.advance(2)
    twin = cluster.fork()
    cluster.restore(cluster.snapshot())
    twin.advance(1)
    assert phase(twin) == "Printing"
    cluster.advance(3)
    assert phase(cluster) == "Printing"


def test_a_stage_of_an_unserved_kind_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="does not serve 'Leaflet'"):
        sim.Cluster().stages(PRINTS)


def test_stages_work_beside_nodes() -> None:
    rig = Rig(ready_after=1)
    rig.cluster.stages(
        sim.Stage(kind="v1/Pod", when={"status": {"phase": "Running"}, "metadata": {"annotations": None}},
                  after=2, patch={"metadata": {"annotations": {"seen": "yes"}}}),
    )  # fmt: skip
    rig.run()
    rig.cluster.advance(2)
    assert rig.pod()["metadata"]["annotations"] == {"seen": "yes"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=2) | st.dictionaries(st.sampled_from("abc"), children, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS)
def test_an_object_matches_every_part_of_itself(obj: Json) -> None:
    assert sim.Stage(kind="v1/Pod", when=obj).matches(obj)
    for name in obj:
        part: dict[str, Any] = {name: obj[name]}
        assert sim.Stage(kind="v1/Pod", when=part).matches(obj)
    assert not sim.Stage(kind="v1/Pod", when={"d": {"e": 1}}).matches(obj)
    assert sim.Stage(kind="v1/Pod", when={"d": {"e": None}}).matches(obj)
