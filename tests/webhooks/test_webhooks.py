"""Webhooks answer reviews of typed objects with verdicts, patches and converted objects."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import anyio
import pytest
from webhook_rig import (
    CONVERT,
    DEFAULT,
    GROUP,
    VALIDATE,
    Book,
    Name,
    OldBook,
    Spec,
    book,
    conversion,
    down,
    make_webhooks,
    review,
    up,
)  # fmt: skip

import kubeproto as kp
from kubeproto.crd import AdmissionVerdict, Violation, allow, deny
from kubeproto.objects import apply_json_patch, encode
from kubeproto_runtime.webhooks import Admission, WebhookAddress, WebhookApplication, WebhookOptions, Webhooks


def post(application: Webhooks[Any] | WebhookApplication, path: str, body: bytes) -> tuple[int, Any]:
    """Post a review; return the status, and the decoded response or the error message."""
    status, headers, response = anyio.run(application.respond, "POST", path, body)
    if ("Content-Type", "application/json") in headers:
        return status, json.loads(response)["response"]
    return status, response.decode()


def apply_patch(obj: dict[str, Any], response: dict[str, Any]) -> Any:
    """Return the object with the patch of a response applied."""
    if "patch" not in response:
        return obj
    assert response["patchType"] == "JSONPatch"
    return apply_json_patch(obj, json.loads(base64.b64decode(response["patch"])))


def test_an_object_without_violations_is_allowed() -> None:
    assert post(make_webhooks(), VALIDATE, review(book())) == (200, {"uid": "r1", "allowed": True})


def test_an_object_with_violations_is_refused_with_a_cause_for_each() -> None:
    new, old = book(title=" ", isbn="2"), book(isbn="1")
    status, response = post(make_webhooks(), VALIDATE, review(new, old))
    assert (status, response["allowed"]) == (200, False)
    assert response["status"] == {
        "metadata": {},
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": f'Book.{GROUP} "moby" is invalid: [spec.title: Required value: a book has a title,'
        " spec.isbn: Forbidden: a book keeps its number]",
        "details": {
            "name": "moby",
            "group": GROUP,
            "kind": "Book",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: a book has a title",
                    "field": "spec.title",
                },
                {
                    "reason": "FieldValueForbidden",
                    "message": "Forbidden: a book keeps its number",
                    "field": "spec.isbn",
                },
            ],
        },
    }


def test_warnings_are_returned_for_allowed_and_refused_objects() -> None:
    for title, allowed in (("Moby-Dick", True), ("", False)):
        _, response = post(make_webhooks(), VALIDATE, review(book(title=title, pages=3000)))
        assert (response["allowed"], response["warnings"]) == (allowed, ["3000 pages are a lot"])


def test_a_handler_may_be_a_coroutine_and_use_the_whole_request() -> None:
    async def require_author_ann(admission: Admission[Book]) -> AdmissionVerdict:
        await anyio.lowlevel.checkpoint()
        admission.annotate("example.com/seen", admission.operation)
        assert repr(admission) == "<CREATE of Book default/moby>"
        assert not admission.dry_run
        if admission.user.username != "ann":
            return deny("only ann may")
        return allow(warnings=["be careful"])

    application = Webhooks(Book).validate(require_author_ann)
    _, response = post(application, VALIDATE, review(book()))
    assert response == {
        "uid": "r1",
        "allowed": True,
        "warnings": ["be careful"],
        "auditAnnotations": {"example.com/seen": "CREATE"},
    }
    _, response = post(application, VALIDATE, review(book(), userInfo={"username": "bob"}))
    assert (response["status"]["code"], response["status"]["message"]) == (403, "only ann may")


def test_no_validator_is_called_after_a_refusal() -> None:
    called_validators: list[str] = []

    def make_validator(name: str, verdict: Violation | None) -> Any:
        def validate_book(admission: Admission[Book]) -> Violation | None:
            called_validators.append(name)
            return verdict

        return validate_book

    no = Violation("FieldValueInvalid", "spec.title", "x", "no")
    application = (
        Webhooks(Book)
        .validate(make_validator("a", None))
        .validate(make_validator("b", no))
        .validate(make_validator("c", None))
    )
    _, response = post(application, VALIDATE, review(book()))
    assert (response["allowed"], called_validators) == (False, ["a", "b"])


def test_a_deletion_is_reviewed_only_by_validators_of_deletions() -> None:
    reviewed: list[tuple[str, bool]] = []

    def forbid_deletion(admission: Admission[Book]) -> Violation | None:
        reviewed.append((admission.object.spec.title, admission.old is admission.object))
        return Violation("FieldValueForbidden", "metadata", detail="it stays")

    application = Webhooks(Book).validate(forbid_deletion, operations=("DELETE",))
    assert post(application, VALIDATE, review(book()))[1]["allowed"]
    assert not post(application, VALIDATE, review(None, book()))[1]["allowed"]
    assert reviewed == [("Moby-Dick", True)]


def test_an_object_that_does_not_fit_its_class_is_refused_but_may_be_repaired_or_deleted() -> None:
    misfit = book(title=7)
    _, response = post(make_webhooks(), VALIDATE, review(misfit))
    assert response["status"]["code"] == 422
    assert "does not fit Book" in response["status"]["message"]
    assert "$.spec.title" in response["status"]["message"]
    assert post(make_webhooks(), VALIDATE, review(book(), misfit))[1]["allowed"]
    everything = Webhooks(Book).validate(lambda _: deny("no"), operations=("DELETE",))
    assert post(everything, VALIDATE, review(None, misfit))[1]["allowed"]


def test_finalizers_of_a_deleted_object_that_does_not_fit_its_class_can_be_removed() -> None:
    misfit = book(title=7)
    misfit["metadata"]["finalizers"] = ["a/b"]
    for path in (VALIDATE, DEFAULT):
        assert not post(make_webhooks(), path, review(book(title=7), misfit))[1]["allowed"]
    misfit["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    for path in (VALIDATE, DEFAULT):
        assert post(make_webhooks(), path, review(book(title=7), misfit))[1]["allowed"]


# Defaults


def test_defaults_are_returned_as_a_patch_that_keeps_unknown_fields() -> None:
    original = book(publisher="Harper")
    original["metadata"]["finalizers"] = ["a/b"]
    original["extra"] = {"x": [1, None]}
    _, response = post(make_webhooks(), DEFAULT, review(original))
    assert apply_patch(original, response) == {**original, "spec": {**original["spec"], "pages": 1}}
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/pages", "value": 1}
    ]


def test_a_complete_object_needs_no_patch() -> None:
    assert post(make_webhooks(), DEFAULT, review(book(pages=7))) == (200, {"uid": "r1", "allowed": True})


def test_a_defaulter_may_return_another_object() -> None:
    def rename(admission: Admission[Book]) -> Book:
        author = Name(last="Melville")
        return Book(metadata=admission.object.metadata, spec=Spec(title="The Whale", author=author))

    original = book(publisher="Harper", isbn="1")
    _, response = post(Webhooks(Book).default(rename), DEFAULT, review(original))
    spec = apply_patch(original, response)["spec"]
    assert spec == {"title": "The Whale", "author": {"first": "", "last": "Melville"}, "publisher": "Harper",
                    "isbn": ""}  # fmt: skip


def test_each_defaulter_sees_the_defaults_of_earlier_defaulters() -> None:
    def double(admission: Admission[Book]) -> None:
        admission.object.spec.pages = (admission.object.spec.pages or 0) * 2

    application = make_webhooks().default(double)
    original = book()
    assert apply_patch(original, post(application, DEFAULT, review(original))[1])["spec"]["pages"] == 2


# Conversions


def test_objects_are_converted_in_both_directions_with_their_metadata() -> None:
    old = book(version="v1", author="Herman Melville")
    old["metadata"] |= {"labels": {"a": "b"}, "managedFields": [{"manager": "m"}]}
    _, response = post(make_webhooks(), CONVERT, conversion("v2", old))
    assert response["result"] == {"status": "Success"}
    [new] = response["convertedObjects"]
    assert new["apiVersion"] == f"{GROUP}/v2"
    assert new["metadata"] == old["metadata"]
    assert new["spec"]["author"] == {"first": "Herman", "last": "Melville"}
    _, response = post(make_webhooks(), CONVERT, conversion("v1", new, old))
    assert response["convertedObjects"][0]["spec"] == {"title": "Moby-Dick", "author": "Herman Melville"}
    assert response["convertedObjects"][1] == old


def test_a_conversion_may_change_only_labels_in_the_metadata() -> None:
    def relabel(obj: OldBook) -> Book:
        meta = kp.ObjectMeta(name=obj.metadata.name, labels={"new": "1"}, finalizers=["a/b"])
        return Book(metadata=meta, spec=Spec(title=obj.spec.title))

    def forget(obj: OldBook) -> Book:
        return Book(spec=Spec(title=obj.spec.title))

    old = book(version="v1")
    old["metadata"] |= {"labels": {"a": "b"}, "managedFields": [{"manager": "m"}], "unknown": 1}
    for convert, labels in ((relabel, {"new": "1"}), (forget, {"a": "b"})):
        application = Webhooks(Book).convert(OldBook, up=convert, down=down)
        [new] = post(application, CONVERT, conversion("v2", old))[1]["convertedObjects"]
        assert new["metadata"] == {**old["metadata"], "labels": labels}


@pytest.mark.parametrize(
    ("version", "obj", "expected_message"),
    [
        ("v2", book(version="v1", author="nobody"), "Book default/moby: nobody writes no books"),
        ("v2", book(version="v1", title=7), "it does not fit its class: "),
        ("v3", book(), f"no conversion from or to {GROUP}/v3; the versions are {GROUP}/v2, {GROUP}/v1"),
        ("v2", book(version="v0"), f"no conversion from or to {GROUP}/v0"),
    ],
)
def test_the_error_of_a_failed_conversion_names_the_object_and_the_reason(
    version: str, obj: dict[str, Any], expected_message: str
) -> None:
    status, response = post(make_webhooks(), CONVERT, conversion(version, obj))
    assert (status, response["convertedObjects"], response["result"]["status"]) == (200, [], "Failure")
    assert expected_message in response["result"]["message"]


def test_a_conversion_to_another_kind_is_refused() -> None:
    class Author(kp.Object[Spec, None], group=GROUP, version="v1"):
        """A writer of books."""

    application: Any = Webhooks(Book)
    with pytest.raises(ValueError, match="Author is not another version of Book"):
        application.convert(Author, up=up, down=down)
    with pytest.raises(ValueError, match="Book is not another version"):
        application.convert(Book, up=up, down=down)


# Invalid requests and failing handlers


@pytest.mark.parametrize("path", [VALIDATE, DEFAULT, CONVERT])
@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"\xff", b"[" * 100_000, b'{"kind": "Status"}'])
def test_a_body_that_is_not_a_review_is_a_bad_request(path: str, body: bytes) -> None:
    status, response = post(make_webhooks(), path, body)
    assert (status, "Review" in response) == (400, True)


def test_an_unknown_path_or_method_is_refused() -> None:
    assert post(make_webhooks(), "/validate", b"")[0] == 404
    status, headers, _ = anyio.run(make_webhooks().respond, "GET", VALIDATE, b"")
    assert (status, dict(headers)["Allow"]) == (405, "POST")


@pytest.mark.parametrize("error", [ZeroDivisionError, kp.RemoteProtocolError, kp.InvalidObject])
def test_an_error_in_a_handler_is_a_500_and_its_reason_is_only_logged(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def fail_review(admission: Admission[Book]) -> None:
        raise error("a bug")

    with caplog.at_level(logging.ERROR):
        status, response = post(Webhooks(Book).validate(fail_review), VALIDATE, review(book()))
    assert (status, "a bug" in response) == (500, False)
    assert f"{error.__name__}: a bug" in caplog.text
    assert VALIDATE in caplog.text


# Configurations


def test_configurations_contain_the_address_and_the_rules_of_the_webhooks() -> None:
    address = WebhookAddress(namespace="system", service="books", ca_bundle=b"PEM")
    options = WebhookOptions(failure_policy="Ignore", timeout=3)
    application = Webhooks(Book, options=options).validate(check_nothing, operations=("DELETE", "CREATE"))
    [validating] = application.configurations("books", address)
    assert encoded_webhooks(validating) == [{
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "caBundle": base64.b64encode(b"PEM").decode(),
            "service": {"name": "books", "namespace": "system", "path": VALIDATE, "port": 443},
        },
        "name": f"validate.books.{GROUP}", "sideEffects": "None", "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent", "timeoutSeconds": 3,
        "rules": [{
            "apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["DELETE", "CREATE"],
            "resources": ["books"], "scope": "Namespaced",
        }],
    }]  # fmt: skip
    both = make_webhooks().configurations("books", WebhookAddress(url="https://10.0.0.1:9443/"))
    assert [type(configuration).__name__ for configuration in both] == [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ]
    assert encoded_webhooks(both[1])[0]["clientConfig"] == {"url": f"https://10.0.0.1:9443{DEFAULT}"}


def encoded_webhooks(configuration: kp.KubeObject) -> Any:
    """Return the encoded webhooks of a configuration."""
    return json.loads(encode(configuration))["webhooks"]


def check_nothing(admission: Admission[Book]) -> None:
    """Allow everything."""


def test_a_definition_has_both_versions_and_the_conversion() -> None:
    book_crd = make_webhooks().definition(
        WebhookAddress(namespace="system", service="books", ca_bundle=b"PEM")
    )
    assert [(version["name"], version["storage"]) for version in book_crd.spec["versions"]] == [
        ("v2", True),
        ("v1", False),
    ]
    assert book_crd.spec["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "caBundle": base64.b64encode(b"PEM").decode(),
                "service": {"namespace": "system", "name": "books", "path": CONVERT, "port": 443},
            },
            "conversionReviewVersions": ["v1"],
        },
    }
    assert (
        "conversion"
        not in Webhooks(Book).validate(check_nothing).definition(WebhookAddress(url="https://h")).spec
    )


@pytest.mark.parametrize(
    ("address_fields", "expected_message"),
    [
        ({}, "either a Service"),
        ({"url": "https://h", "service": "s"}, "either a Service"),
        ({"service": "s"}, "requires its namespace"),
        ({"url": "http://h"}, "only over TLS"),
    ],
)
def test_an_address_that_no_server_can_call_is_refused(
    address_fields: dict[str, Any], expected_message: str
) -> None:
    with pytest.raises(ValueError, match=expected_message):
        WebhookAddress(**address_fields)


def test_hosts_are_the_names_that_a_server_calls() -> None:
    assert WebhookAddress(namespace="a", service="b").hosts == ("b.a.svc", "b.a.svc.cluster.local")
    hosts = [
        WebhookAddress(url=f"https://{host}/x").hosts
        for host in ("h", "h:9443", "10.0.0.1:9443", "[::1]:9443", "[::1]")
    ]
    assert hosts == [("h",), ("h",), ("10.0.0.1",), ("::1",), ("::1",)]


# Several kinds, and ASGI


class Author(kp.Object[Spec, None], group=GROUP, version="v1"):
    """A writer of books."""


def test_webhooks_of_several_kinds_form_an_application() -> None:
    application = make_webhooks() | Webhooks(Author).validate(lambda _: deny("no author"))
    assert len(application.paths) == 4
    assert post(application, VALIDATE, review(book()))[1]["allowed"]
    assert not post(application, f"/validate/authors.{GROUP}/v1", review(book()))[1]["allowed"]
    assert repr(make_webhooks()) == f"Webhooks(Book: {CONVERT}, {DEFAULT}, {VALIDATE})"


def asgi(scope: dict[str, Any], *received: dict[str, Any]) -> list[Any]:
    """Return the messages that an application sends for the received messages."""
    original: list[Any] = []
    pending_messages = list(received)

    async def receive() -> Any:
        return pending_messages.pop(0)

    async def send(message: Any) -> None:
        original.append(message)

    async def main() -> None:
        await make_webhooks()(scope, receive, send)

    anyio.run(main)
    return original


def test_two_kinds_share_their_configurations() -> None:
    address = WebhookAddress(namespace="system", service="library")
    application = make_webhooks() | Webhooks(Author).validate(check_nothing_of_an_author)
    manifests = application.manifests("library", address)
    assert [(obj.kind, obj.metadata.name) for obj in manifests] == [
        ("CustomResourceDefinition", f"books.{GROUP}"),
        ("ValidatingWebhookConfiguration", "library"),
        ("MutatingWebhookConfiguration", "library"),
    ]
    assert [webhook["name"] for webhook in encoded_webhooks(manifests[1])] == [
        f"validate.books.{GROUP}",
        f"validate.authors.{GROUP}",
    ]
    assert [webhook["name"] for webhook in encoded_webhooks(manifests[2])] == [f"default.books.{GROUP}"]
    assert make_webhooks().manifests("books", address)[0] == manifests[0]


def check_nothing_of_an_author(admission: Admission[Author]) -> None:
    """Allow everything."""


def test_an_asgi_server_runs_webhooks_at_any_root_path() -> None:
    body = review(book())
    body_messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": body[:10], "more_body": True},
        {"type": "http.request", "body": body[10:]},
    ]
    for path, root in ((VALIDATE, ""), (f"/hooks{VALIDATE}", "/hooks"), (VALIDATE, "/hooks")):
        scope = {"type": "http", "method": "POST", "path": path, "root_path": root}
        start, end = asgi(scope, *body_messages)
        assert (start["type"], start["status"]) == ("http.response.start", 200)
        assert dict(start["headers"])[b"content-length"] == str(len(end["body"])).encode()
        assert json.loads(end["body"])["response"]["allowed"] is True


def test_webhooks_handle_asgi_lifespans_disconnects_and_large_bodies() -> None:
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    assert [message["type"] for message in asgi({"type": "lifespan"}, *events)] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    scope = {"type": "http", "method": "POST", "path": VALIDATE}
    assert asgi(scope, {"type": "http.disconnect"}) == []
    long = {"type": "http.request", "body": b" " * (17 << 20), "more_body": True}
    assert asgi(scope, long)[0]["status"] == 413
    with pytest.raises(ValueError, match="over websocket"):
        asgi({"type": "websocket"})
