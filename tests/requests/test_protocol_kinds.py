"""The kinds of the protocol are read as servers write them, and written as servers require."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from recorded import read_recording

import kubeproto as kp
from kubeproto.kinds.authentication_v1 import TokenRequest
from kubeproto.kinds.autoscaling_v1 import Scale, ScaleSpec
from kubeproto.kinds.coordination_v1 import Lease, LeaseSpec
from kubeproto.kinds.core_v1 import ObjectReference, ServiceAccount
from kubeproto.kinds.events_v1 import Event, EventSeries
from kubeproto.kinds.meta_v1 import DeleteOptions, Preconditions
from kubeproto.kinds.policy_v1 import Eviction
from kubeproto.objects import MicroTime, Table, decode, encode

NOON = MicroTime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def test_times_of_a_lease_always_have_six_digits() -> None:
    lease = Lease(
        metadata=kp.ObjectMeta(name="l"),
        spec=LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=NOON),
    )
    encoded = json.loads(encode(lease))
    assert encoded["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-31T12:00:00.000000Z",
    }
    assert decode(encode(lease), Lease) == lease


def test_a_lease_without_a_spec_has_no_holder() -> None:
    body = b'{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"}}'
    assert decode(body, Lease).spec.holder_identity is None


def test_an_event_and_its_series_are_sent_and_read() -> None:
    event = Event(
        metadata=kp.ObjectMeta(name="e", namespace="w"),
        event_time=NOON,
        series=EventSeries(count=3, last_observed_time=NOON),
        reporting_controller="example.com/c",
        reporting_instance="c-0",
        action="Start",
        reason="Started",
        regarding=ObjectReference(kind="Pod", namespace="w", name="p", uid="u"),
        note="started",
        type="Normal",
    )
    encoded = json.loads(encode(event))
    assert encoded["eventTime"] == "2026-01-31T12:00:00.000000Z"
    assert encoded["series"] == {"count": 3, "lastObservedTime": "2026-01-31T12:00:00.000000Z"}
    assert "deprecatedCount" not in encoded
    assert decode(encode(event), Event) == event


def test_an_event_of_the_core_group_is_read_without_its_time() -> None:
    body = (
        b'{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e"},"eventTime":null,'
        b'"deprecatedLastTimestamp":"2026-01-31T12:00:00Z","deprecatedCount":4}'
    )
    event = decode(body, Event)
    assert event.event_time is None
    assert event.deprecated_last_timestamp == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_zero_replicas_are_sent_and_omitted_replicas_are_none() -> None:
    scale = Scale(metadata=kp.ObjectMeta(name="d"), spec=ScaleSpec(replicas=0))
    assert json.loads(encode(scale))["spec"] == {"replicas": 0}
    assert decode(read_recording("scale-get").response.content, Scale).spec.replicas is None


def test_options_contain_only_the_passed_arguments() -> None:
    assert encode(DeleteOptions()) == b"{}"
    options = DeleteOptions(preconditions=Preconditions(uid="u"), grace_period_seconds=0)
    assert json.loads(encode(options)) == {"preconditions": {"uid": "u"}, "gracePeriodSeconds": 0}
    eviction = Eviction(metadata=kp.ObjectMeta(name="p"), delete_options=options)
    assert "deleteOptions" in json.loads(encode(eviction))


def test_a_token_request_always_contains_audiences() -> None:
    request = kp.Api(ServiceAccount, namespace="w").create_token("sa")
    assert json.loads(request.body)["spec"] == {"audiences": []}
    assert decode(request.body, TokenRequest).spec.audiences == []


def test_a_table_contains_the_objects_of_its_rows() -> None:
    table = decode(read_recording("list-as-table").response.content, Table)
    assert table.rows[0].object is not None
    assert table.rows[0].object.metadata.name == "a"
    assert table.metadata.remaining_item_count == 18
