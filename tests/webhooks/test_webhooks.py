"""Webhooks answer reviews: typed objects in; verdicts, patches and converted objects out."""

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
    review,
    up,
    webhooks,
)  # fmt: skip

import kubeproto as kp
from kubeproto.crd import AdmissionVerdict, Violation, allow, deny
from kubeproto.objects import apply_json_patch, encode
from kubeproto_runtime.webhooks import Admission, WebhookAddress, WebhookApplication, WebhookOptions, Webhooks


def post(application: Webhooks[Any] | WebhookApplication, path: str, body: bytes) -> tuple[int, Any]:
    """The status, and the response of a review or the text of an error."""
    status, headers, answer = anyio.run(application.respond, "POST", path, body)
    if ("Content-Type", "application/json") in headers:
        return status, json.loads(answer)["response"]
    return status, answer.decode()


def patched(obj: dict[str, Any], answer: dict[str, Any]) -> Any:
    """The object with the patch of a response."""
    if "patch" not in answer:
        return obj
    assert answer["patchType"] == "JSONPatch"
    return apply_json_patch(obj, json.loads(base64.b64decode(answer["patch"])))


def test_what_breaks_no_rule_is_allowed() -> None:
    assert post(webhooks(), VALIDATE, review(book())) == (200, {"uid": "r1", "allowed": True})


def test_what_breaks_rules_is_refused_with_a_cause_for_each() -> None:
    new, old = book(title=" ", isbn="2"), book(isbn="1")
    status, said = post(webhooks(), VALIDATE, review(new, old))
    assert (status, said["allowed"]) == (200, False)
    assert said["status"] == {
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


def test_warnings_are_shown_whether_it_is_allowed_or_not() -> None:
    for title, allowed in (("Moby-Dick", True), ("", False)):
        _, said = post(webhooks(), VALIDATE, review(book(title=title, pages=3000)))
        assert (said["allowed"], said["warnings"]) == (allowed, ["3000 pages are a lot"])


def test_a_handler_may_be_a_coroutine_and_use_all_that_the_server_said() -> None:
    async def only_ann(admission: Admission[Book]) -> AdmissionVerdict:
        await anyio.lowlevel.checkpoint()
        admission.annotate("example.com/seen", admission.operation)
        assert repr(admission) == "<CREATE of Book default/moby>"
        assert not admission.dry_run
        if admission.user.username != "ann":
            return deny("only ann may")
        return allow(warnings=["be careful"])

    application = Webhooks(Book).validate(only_ann)
    _, said = post(application, VALIDATE, review(book()))
    assert said == {
        "uid": "r1",
        "allowed": True,
        "warnings": ["be careful"],
        "auditAnnotations": {"example.com/seen": "CREATE"},
    }
    _, said = post(application, VALIDATE, review(book(), userInfo={"username": "bob"}))
    assert (said["status"]["code"], said["status"]["message"]) == (403, "only ann may")


def test_the_first_validator_that_refuses_is_the_last_that_is_asked() -> None:
    asked: list[str] = []

    def one(name: str, verdict: Violation | None) -> Any:
        def ask(admission: Admission[Book]) -> Violation | None:
            asked.append(name)
            return verdict

        return ask

    no = Violation("FieldValueInvalid", "spec.title", "x", "no")
    application = Webhooks(Book).validate(one("a", None)).validate(one("b", no)).validate(one("c", None))
    _, said = post(application, VALIDATE, review(book()))
    assert (said["allowed"], asked) == (False, ["a", "b"])


def test_a_deletion_is_shown_to_those_who_ask_for_deletions() -> None:
    seen: list[tuple[str, bool]] = []

    def keep(admission: Admission[Book]) -> Violation | None:
        seen.append((admission.object.spec.title, admission.old is admission.object))
        return Violation("FieldValueForbidden", "metadata", detail="it stays")

    application = Webhooks(Book).validate(keep, operations=("DELETE",))
    assert post(application, VALIDATE, review(book()))[1]["allowed"]
    assert not post(application, VALIDATE, review(None, book()))[1]["allowed"]
    assert seen == [("Moby-Dick", True)]


def test_an_object_that_does_not_fit_its_class_is_refused_and_may_be_repaired_and_deleted() -> None:
    misfit = book(title=7)
    _, said = post(webhooks(), VALIDATE, review(misfit))
    assert said["status"]["code"] == 422
    assert "does not fit Book" in said["status"]["message"]
    assert "$.spec.title" in said["status"]["message"]
    assert post(webhooks(), VALIDATE, review(book(), misfit))[1]["allowed"]
    everything = Webhooks(Book).validate(lambda _: deny("no"), operations=("DELETE",))
    assert post(everything, VALIDATE, review(None, misfit))[1]["allowed"]


def test_the_finalizers_of_an_object_that_does_not_fit_can_be_removed_once_it_is_deleted() -> None:
    misfit = book(title=7)
    misfit["metadata"]["finalizers"] = ["a/b"]
    for path in (VALIDATE, DEFAULT):
        assert not post(webhooks(), path, review(book(title=7), misfit))[1]["allowed"]
    misfit["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    for path in (VALIDATE, DEFAULT):
        assert post(webhooks(), path, review(book(title=7), misfit))[1]["allowed"]


# Defaults


def test_what_a_handler_fills_in_is_a_patch_and_what_its_class_does_not_know_stays() -> None:
    sent = book(publisher="Harper")
    sent["metadata"]["finalizers"] = ["a/b"]
    sent["extra"] = {"x": [1, None]}
    _, said = post(webhooks(), DEFAULT, review(sent))
    assert patched(sent, said) == {**sent, "spec": {**sent["spec"], "pages": 1}}
    assert json.loads(base64.b64decode(said["patch"])) == [{"op": "add", "path": "/spec/pages", "value": 1}]


def test_what_is_filled_already_needs_no_patch() -> None:
    assert post(webhooks(), DEFAULT, review(book(pages=7))) == (200, {"uid": "r1", "allowed": True})


def test_a_handler_may_return_another_object() -> None:
    def rename(admission: Admission[Book]) -> Book:
        author = Name(last="Melville")
        return Book(metadata=admission.object.metadata, spec=Spec(title="The Whale", author=author))

    sent = book(publisher="Harper", isbn="1")
    _, said = post(Webhooks(Book).default(rename), DEFAULT, review(sent))
    spec = patched(sent, said)["spec"]
    assert spec == {"title": "The Whale", "author": {"first": "", "last": "Melville"}, "publisher": "Harper",
                    "isbn": ""}  # fmt: skip


def test_each_defaulter_sees_what_those_before_it_have_filled() -> None:
    def double(admission: Admission[Book]) -> None:
        admission.object.spec.pages = (admission.object.spec.pages or 0) * 2

    application = webhooks().default(double)
    sent = book()
    assert patched(sent, post(application, DEFAULT, review(sent))[1])["spec"]["pages"] == 2


# Conversions


def test_objects_are_converted_both_ways_with_their_metadata() -> None:
    old = book(version="v1", author="Herman Melville")
    old["metadata"] |= {"labels": {"a": "b"}, "managedFields": [{"manager": "m"}]}
    _, said = post(webhooks(), CONVERT, conversion("v2", old))
    assert said["result"] == {"status": "Success"}
    [new] = said["convertedObjects"]
    assert new["apiVersion"] == f"{GROUP}/v2"
    assert new["metadata"] == old["metadata"]
    assert new["spec"]["author"] == {"first": "Herman", "last": "Melville"}
    _, said = post(webhooks(), CONVERT, conversion("v1", new, old))
    assert said["convertedObjects"][0]["spec"] == {"title": "Moby-Dick", "author": "Herman Melville"}
    assert said["convertedObjects"][1] == old


def test_a_conversion_may_change_labels_and_nothing_else_of_the_metadata() -> None:
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
    ("version", "obj", "why"),
    [
        ("v2", book(version="v1", author="nobody"), "Book default/moby: nobody writes no books"),
        ("v2", book(version="v1", title=7), "it does not fit its class: "),
        ("v3", book(), f"no conversion from or to {GROUP}/v3; the versions are {GROUP}/v2, {GROUP}/v1"),
        ("v2", book(version="v0"), f"no conversion from or to {GROUP}/v0"),
    ],
)
def test_an_object_that_cannot_be_converted_is_named_with_the_reason(
    version: str, obj: dict[str, Any], why: str
) -> None:
    status, said = post(webhooks(), CONVERT, conversion(version, obj))
    assert (status, said["convertedObjects"], said["result"]["status"]) == (200, [], "Failure")
    assert why in said["result"]["message"]


def test_another_kind_is_not_another_version() -> None:
    class Author(kp.Object[Spec, None], group=GROUP, version="v1"):
        """Who writes."""

    application: Any = Webhooks(Book)
    with pytest.raises(ValueError, match="Author is not another version of Book"):
        application.convert(Author, up=up, down=down)
    with pytest.raises(ValueError, match="Book is not another version"):
        application.convert(Book, up=up, down=down)


# What is not a review, and handlers that fail


@pytest.mark.parametrize("path", [VALIDATE, DEFAULT, CONVERT])
@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"\xff", b"[" * 100_000, b'{"kind": "Status"}'])
def test_what_is_not_a_review_is_a_bad_request(path: str, body: bytes) -> None:
    status, said = post(webhooks(), path, body)
    assert (status, "Review" in said) == (400, True)


def test_a_path_or_method_that_is_not_there_is_said_so() -> None:
    assert post(webhooks(), "/validate", b"")[0] == 404
    status, headers, _ = anyio.run(webhooks().respond, "GET", VALIDATE, b"")
    assert (status, dict(headers)["Allow"]) == (405, "POST")


@pytest.mark.parametrize("error", [ZeroDivisionError, kp.RemoteProtocolError, kp.InvalidObject])
def test_a_handler_that_fails_is_a_500_and_its_reason_stays_in_the_log(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(admission: Admission[Book]) -> None:
        raise error("a bug")

    with caplog.at_level(logging.ERROR):
        status, said = post(Webhooks(Book).validate(broken), VALIDATE, review(book()))
    assert (status, "a bug" in said) == (500, False)
    assert f"{error.__name__}: a bug" in caplog.text
    assert VALIDATE in caplog.text


# Configurations


def test_configurations_say_where_and_for_what_the_webhooks_are() -> None:
    where = WebhookAddress(namespace="system", service="books", ca_bundle=b"PEM")
    options = WebhookOptions(failure_policy="Ignore", timeout=3)
    application = Webhooks(Book, options=options).validate(check_nothing, operations=("DELETE", "CREATE"))
    [validating] = application.configurations("books", where)
    assert sent(validating) == [{
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
    both = webhooks().configurations("books", WebhookAddress(url="https://10.0.0.1:9443/"))
    assert [type(one).__name__ for one in both] == [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ]
    assert sent(both[1])[0]["clientConfig"] == {"url": f"https://10.0.0.1:9443{DEFAULT}"}


def sent(configuration: kp.KubeObject) -> Any:
    """The webhooks of a configuration as they go out."""
    return json.loads(encode(configuration))["webhooks"]


def check_nothing(admission: Admission[Book]) -> None:
    """Allow everything."""


def test_a_definition_has_both_versions_and_the_conversion() -> None:
    made = webhooks().definition(WebhookAddress(namespace="system", service="books", ca_bundle=b"PEM"))
    assert [(one["name"], one["storage"]) for one in made.spec["versions"]] == [("v2", True), ("v1", False)]
    assert made.spec["conversion"] == {
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
    ("facts", "why"),
    [
        ({}, "either a Service"),
        ({"url": "https://h", "service": "s"}, "either a Service"),
        ({"service": "s"}, "requires its namespace"),
        ({"url": "http://h"}, "only over TLS"),
    ],
)
def test_a_place_that_no_server_could_call_is_refused(facts: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WebhookAddress(**facts)


def test_the_names_of_a_certificate_are_those_that_a_server_calls() -> None:
    assert WebhookAddress(namespace="a", service="b").hosts == ("b.a.svc", "b.a.svc.cluster.local")
    hosts = [
        WebhookAddress(url=f"https://{host}/x").hosts
        for host in ("h", "h:9443", "10.0.0.1:9443", "[::1]:9443", "[::1]")
    ]
    assert hosts == [("h",), ("h",), ("10.0.0.1",), ("::1",), ("::1",)]


# Several kinds, and ASGI


class Author(kp.Object[Spec, None], group=GROUP, version="v1"):
    """Who writes."""


def test_the_webhooks_of_several_kinds_are_one_application() -> None:
    application = webhooks() | Webhooks(Author).validate(lambda _: deny("no author"))
    assert len(application.paths) == 4
    assert post(application, VALIDATE, review(book()))[1]["allowed"]
    assert not post(application, f"/validate/authors.{GROUP}/v1", review(book()))[1]["allowed"]
    assert repr(webhooks()) == f"Webhooks(Book: {CONVERT}, {DEFAULT}, {VALIDATE})"


def asgi(scope: dict[str, Any], *received: dict[str, Any]) -> list[Any]:
    """What an application sends for what it receives."""
    sent: list[Any] = []
    left = list(received)

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async def main() -> None:
        await webhooks()(scope, receive, send)

    anyio.run(main)
    return sent


def test_two_kinds_share_their_configurations() -> None:
    where = WebhookAddress(namespace="system", service="library")
    application = webhooks() | Webhooks(Author).validate(check_nothing_of_an_author)
    shipped = application.manifests("library", where)
    assert [(one.kind, one.metadata.name) for one in shipped] == [
        ("CustomResourceDefinition", f"books.{GROUP}"),
        ("ValidatingWebhookConfiguration", "library"),
        ("MutatingWebhookConfiguration", "library"),
    ]
    assert [one["name"] for one in sent(shipped[1])] == [
        f"validate.books.{GROUP}",
        f"validate.authors.{GROUP}",
    ]
    assert [one["name"] for one in sent(shipped[2])] == [f"default.books.{GROUP}"]
    assert webhooks().manifests("books", where)[0] == shipped[0]


def check_nothing_of_an_author(admission: Admission[Author]) -> None:
    """Allow everything."""


def test_an_asgi_server_runs_it_at_the_root_or_below() -> None:
    body = review(book())
    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": body[:10], "more_body": True},
        {"type": "http.request", "body": body[10:]},
    ]
    for path, root in ((VALIDATE, ""), (f"/hooks{VALIDATE}", "/hooks"), (VALIDATE, "/hooks")):
        scope = {"type": "http", "method": "POST", "path": path, "root_path": root}
        start, end = asgi(scope, *pieces)
        assert (start["type"], start["status"]) == ("http.response.start", 200)
        assert dict(start["headers"])[b"content-length"] == str(len(end["body"])).encode()
        assert json.loads(end["body"])["response"]["allowed"] is True


def test_an_asgi_server_may_begin_end_and_lose_its_client() -> None:
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    assert [one["type"] for one in asgi({"type": "lifespan"}, *events)] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    scope = {"type": "http", "method": "POST", "path": VALIDATE}
    assert asgi(scope, {"type": "http.disconnect"}) == []
    long = {"type": "http.request", "body": b" " * (17 << 20), "more_body": True}
    assert asgi(scope, long)[0]["status"] == 413
    with pytest.raises(ValueError, match="over websocket"):
        asgi({"type": "websocket"})
