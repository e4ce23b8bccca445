"""No argument changes the path or splits a header: it arrives unchanged or is refused."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest
from hypothesis import example, given, strategies as st
from request_kinds import CONFIG_MAPS, PODS, SERVICE_ACCOUNTS, ConfigMap

import kubeproto as kp
from kubeproto.requests import Discovery, DiscoveryProgress, health, openapi_document

# Any text, also half surrogates, and often characters with a meaning in URLs or headers.
ODD = st.one_of(
    st.text(max_size=20),
    st.text(st.sampled_from("/%.?#&=;:@+ \\\r\n\t\x00\x7fäö€\u2028\ud800aZ0-_~"), max_size=12),
)


def split_target(request: kp.RawRequest) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the path segments and the query like a server; the target must be plain ASCII."""
    assert request.target.isascii()
    assert request.target.isprintable()
    assert not set(request.target) & set(' #"<>\\^`{|}')
    for name, value in request.headers:
        assert not set(name + value) & {"\r", "\n", "\0"}
    split = urlsplit(request.target)
    assert not split.scheme
    assert not split.netloc
    query = parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    return [unquote(segment, errors="strict") for segment in split.path.split("/")], query


def can_be_a_segment(text: str) -> bool:
    return text not in ("", ".", "..") and not set(text) & {"/", "%"} and text.isprintable()


@given(name=ODD)
@example(name="..")
@example(name="system:node")
def test_rq_28_a_name_is_a_single_segment_or_refused(name: str) -> None:
    try:
        segments, query = split_target(CONFIG_MAPS.get(name))
    except kp.InvalidRequest:
        assert not can_be_a_segment(name)
    else:
        assert segments == ["", "api", "v1", "namespaces", "w", "configmaps", name]
        assert query == []


@given(namespace=ODD.filter(bool))
def test_rq_28_a_namespace_is_a_single_segment_or_refused(namespace: str) -> None:
    try:
        segments, _ = split_target(kp.Api(ConfigMap, namespace=namespace).list())
    except kp.InvalidRequest:
        assert not can_be_a_segment(namespace)
    else:
        assert segments == ["", "api", "v1", "namespaces", namespace, "configmaps"]


@given(group=ODD, version=ODD, plural=ODD, subresource=ODD)
def test_rq_28_group_version_and_plural_of_a_resource_are_checked_too(
    group: str, version: str, plural: str, subresource: str
) -> None:
    resource = kp.Resource(group, version, "Odd", plural)
    try:
        api = kp.Api(kp.Dynamic, resource=resource)
        segments, _ = split_target(api.subresource(subresource).get("x"))
    except kp.InvalidRequest:
        assert not all(can_be_a_segment(text) for text in (group or "core", version, plural, subresource))
    else:
        root = ["apis", group, version] if group else ["api", version]
        assert segments == ["", *root, "namespaces", "default", plural, "x", subresource]


@given(label=ODD, field=ODD, token=ODD, since=ODD.filter(lambda text: text not in ("", "0")))
def test_selectors_and_tokens_arrive_unchanged(label: str, field: str, token: str, since: str) -> None:
    fields: list[tuple[Any, dict[str, str]]] = [
        (
            lambda: CONFIG_MAPS.list(label_selector=label, field_selector=field, continue_=token),
            {"labelSelector": label, "fieldSelector": field, "continue": token},
        ),
        (
            lambda: CONFIG_MAPS.watch(label_selector=label, field_selector=field, resource_version=since),
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "labelSelector": label,
                "fieldSelector": field,
                "resourceVersion": since,
            },
        ),
    ]
    for build, values in fields:
        try:
            segments, query = split_target(build())
        except kp.InvalidRequest:
            assert not "".join(values.values()).isprintable()  # half of a surrogate pair cannot be encoded
        else:
            assert segments == ["", "api", "v1", "namespaces", "w", "configmaps"]
            assert dict(query) == {key: value for key, value in values.items() if value}


@given(manager=ODD)
@example(manager="m" * 129)
@example(manager="é" * 65)
def test_a_field_manager_arrives_unchanged_or_is_refused(manager: str) -> None:
    try:
        _, query = split_target(CONFIG_MAPS.merge_patch("a", {}, field_manager=manager))
    except kp.InvalidRequest:
        assert not manager.isprintable() or len(manager.encode()) > 128
    else:
        assert query == ([("fieldManager", manager)] if manager else [])
        assert len(manager.encode()) <= 128


@given(container=ODD, command=st.lists(ODD, min_size=1, max_size=4))
def test_containers_and_commands_arrive_unchanged(container: str, command: list[str]) -> None:
    try:
        segments, query = split_target(PODS.exec("p", command, container=container))
    except kp.InvalidRequest:
        assert not (container + "".join(command)).isprintable()
    else:
        assert segments == ["", "api", "v1", "namespaces", "w", "pods", "p", "exec"]
        assert [value for key, value in query if key == "command"] == command
        assert dict(query).get("container", "") == container


def discovery_with(etag: str) -> Discovery:
    return msgspec.convert({"core": {"groups": [], "etag": etag}, "apis": {"groups": []}}, Discovery)


def legacy_discovery_of(group: str) -> DiscoveryProgress:
    state = DiscoveryProgress()
    document = {"kind": "APIGroupList", "groups": [{"name": group, "versions": [{"version": "v1"}]}]}
    return state.receive(state.requests[1], 200, (), json.dumps(document).encode())


@given(text=ODD)
def test_no_argument_of_other_requests_changes_the_path(text: str) -> None:
    builders: list[Any] = [
        lambda: PODS.log("p", container=text),
        lambda: PODS.evict(text),
        lambda: PODS.bind("p", text),
        lambda: SERVICE_ACCOUNTS.create_token(text),
        lambda: CONFIG_MAPS.delete("a", uid=text),
        lambda: CONFIG_MAPS.apply({"metadata": {"name": text}}, field_manager="m"),
        lambda: CONFIG_MAPS.create(ConfigMap(metadata=kp.ObjectMeta(name=text))),
        lambda: DiscoveryProgress(discovery_with(text)).requests[0],
        lambda: legacy_discovery_of(text).requests[1],
        lambda: health(check=text),
        lambda: health(exclude=[text]),
        lambda: openapi_document(text),
        lambda: openapi_document("api/v1", hash=text),
    ]
    for build in builders:
        try:
            segments, _ = split_target(build())
        except (kp.InvalidRequest, kp.RemoteProtocolError):
            continue
        assert segments[0] == ""
        assert not {".", "..", ""} & set(segments[1:])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb", "a\nb", "a\x00", "\ud800"])
def test_rq_28_the_refusal_names_the_value(name: str) -> None:
    with pytest.raises(kp.InvalidRequest) as caught:
        CONFIG_MAPS.get(name)
    assert repr(name) in str(caught.value)
    assert "ConfigMap" in str(caught.value)
