"""No error and no warning quotes a value of a Secret, in whatever form the value was sent."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.kinds.authentication_v1 import TokenReview, TokenReviewSpec
from kubeproto.kinds.core_v1 import ConfigMap, Secret
from kubeproto.requests import Request
from kubeproto.wire import Headers, warnings

SECRETS = kp.Api(Secret, namespace="shop")
PASSWORD = "correct horse"


def make_secret(**values: str) -> Secret:
    return Secret(metadata=kp.ObjectMeta(name="s"), string_data=values)


def encoded(value: str) -> str:
    return b64encode(value.encode()).decode()


REQUESTS: dict[str, Request[Any]] = {
    "create": SECRETS.create(make_secret(password=PASSWORD)),
    "create, encoded": SECRETS.create(
        Secret(metadata=kp.ObjectMeta(name="s"), data={"p": PASSWORD.encode()})
    ),
    "replace": SECRETS.replace(make_secret(password=PASSWORD)),
    "apply": SECRETS.apply(make_secret(password=PASSWORD), field_manager="m"),
    "merge patch": SECRETS.merge_patch("s", {"stringData": {"password": PASSWORD}}),
    "strategic patch": SECRETS.strategic_patch("s", {"data": {"password": encoded(PASSWORD)}}),
    "json patch": SECRETS.json_patch("s", [{"op": "add", "path": "/stringData/password", "value": PASSWORD}]),
    "json patch of a map": SECRETS.json_patch(
        "s", [{"op": "add", "path": "/stringData", "value": {"p": PASSWORD}}]
    ),
    "json patch of all": SECRETS.json_patch(
        "s", [{"op": "replace", "path": "", "value": {"stringData": {"p": PASSWORD}}}]
    ),
    "review": kp.Api(TokenReview).create(TokenReview(spec=TokenReviewSpec(token=PASSWORD))),
}


def refused(request: Request[Any], message: str, *causes: str) -> kp.ApiError:
    details = {"causes": [{"message": cause, "field": "data"} for cause in causes]}
    status = {"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid", "message": message}
    with pytest.raises(kp.ApiError) as raised:
        request.parse(422, (), json.dumps(status | {"details": details}).encode())
    return raised.value


@pytest.mark.parametrize("name", REQUESTS)
def test_a_refusal_of_a_secret_does_not_quote_its_values(name: str) -> None:
    for quoted in (PASSWORD, encoded(PASSWORD), f"&{{{PASSWORD}}}"):
        error = refused(REQUESTS[name], f"expected string, got: {quoted}", f"it is: {quoted}")
        everything = f"{error} {error!r} {error.args} {error.status}"
        assert PASSWORD not in everything
        assert encoded(PASSWORD) not in everything
        assert "422 Invalid: expected string, got: " in str(error)
        assert error.status.details.causes[0].field == "data"


@pytest.mark.parametrize("name", REQUESTS)
def test_a_warning_about_a_secret_does_not_quote_its_values(name: str) -> None:
    headers: Headers = (("Warning", f'299 - "policy: {PASSWORD} is a weak password"'),)
    assert warnings(headers, REQUESTS[name]) == ("policy: *** is a weak password",)


def test_a_reply_has_warnings_without_secrets() -> None:
    request = REQUESTS["create"]
    reply = request.parse(201, (("Warning", f'299 - "{PASSWORD}"'),), msgspec.json.encode(make_secret()))
    assert reply.warnings == ("***",)


def test_numbers_and_short_values_are_hidden_if_they_stand_alone() -> None:
    request = SECRETS.merge_patch("s", {"stringData": {"pin": 1234, "digit": 7, "yes": True, "letter": "s"}})
    error = refused(request, "Secret s: got 1234, 7 and true in 17 words")
    assert error.status.message == "Secret ***: got ***, *** and *** in 17 words"


def test_a_value_that_contains_another_value_is_hidden_as_a_whole() -> None:
    request = SECRETS.create(make_secret(user="admin", password="admin-hunter2"))
    assert refused(request, "got admin-hunter2 of admin").status.message == "got *** of ***"


def test_a_value_of_several_lines_is_hidden_when_it_is_quoted_escaped_or_in_part() -> None:
    key = "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n-----END KEY-----\n"
    request = SECRETS.create(make_secret(key=key))
    for quoted in (json.dumps(key), "line 3: ijklmnop", key):
        assert "ijklmnop" not in str(refused(request, f"this is not a key: {quoted}"))


def test_an_unreadable_body_is_not_quoted() -> None:
    request = msgspec.structs.replace(REQUESTS["create"], body=b"stringData: {p: hunter2}")
    assert str(refused(request, "it is hunter2")).endswith("422 Invalid: ***")


@pytest.mark.parametrize(
    "request_",
    [
        kp.Api(ConfigMap, namespace="shop").create(
            ConfigMap(metadata=kp.ObjectMeta(name="s"), data={"k": "a value"})
        ),
        SECRETS.delete("s"),
        SECRETS.get("s"),
        SECRETS.merge_patch("s", {"metadata": {"labels": {"k": "a value"}}}),
    ],
    ids=["another kind", "delete", "get", "labels"],
)
def test_other_text_is_not_hidden(request_: Request[Any]) -> None:
    assert refused(request_, "it is a value").status.message == "it is a value"


TEXTS = st.text(st.characters(exclude_characters="*", codec="utf-8"))


@given(TEXTS.filter(lambda text: len(text) >= 4), TEXTS, TEXTS)
def test_a_value_is_hidden_in_any_text_around_it(value: str, prefix: str, suffix: str) -> None:
    message = refused(SECRETS.create(make_secret(password=value)), f"{prefix}{value}{suffix}").status.message
    assert value not in message
