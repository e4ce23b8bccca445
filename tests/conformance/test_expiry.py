"""The four forms of 410, on a server whose history was compacted."""

from __future__ import annotations

from conformance.client import Client, names, version_of


def test_sv_02_an_expired_page_is_a_410_whose_token_continues_with_the_current_objects(
    bare: Client,
) -> None:
    for name in "abcd":
        bare.config(name)
    token = bare.get(f"{bare.configmaps}?limit=2")["metadata"]["continue"]
    bare.config("bb")
    bare.server.compact()
    status = bare.expect_refusal("GET", f"{bare.configmaps}?limit=2&continue={token}")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("The provided continue parameter is too old")
    remainder = bare.get(f"{bare.configmaps}?continue={status['metadata']['continue']}")
    assert names(remainder) == ["bb", "c", "d"]


def test_an_expired_exact_version_is_a_410(bare: Client) -> None:
    then = version_of(bare.config("a"))
    bare.config("b")
    bare.server.compact()
    for query in ("resourceVersionMatch=Exact&", "limit=5&"):
        status = bare.expect_refusal("GET", f"{bare.configmaps}?{query}resourceVersion={then}")
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"] == "The resourceVersion for the provided list is too old."
    assert names(bare.get(f"{bare.configmaps}?resourceVersion={then}")) == ["a", "b"]


def test_sv_06_a_watch_from_an_expired_version_is_a_410_in_the_stream(bare: Client) -> None:
    then = version_of(bare.config("a"))
    bare.config("b")
    bare.config("c")
    bare.server.compact()
    with bare.watch(f"{bare.configmaps}?resourceVersion={then}") as stream:
        [(change, status)] = stream.take_all()
    assert (stream.status, change) == (200, "ERROR")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"] == "The resourceVersion for the provided watch is too old."


def test_a_watch_from_the_version_of_a_list_continues_after_a_compaction(bare: Client) -> None:
    bare.config("a")
    bare.server.compact()
    since = version_of(bare.get(bare.configmaps))
    with bare.watch(f"{bare.configmaps}?resourceVersion={since}") as stream:
        bare.config("b")
        assert stream.take_names(1) == [("ADDED", "b")]


def test_a_get_never_expires(bare: Client) -> None:
    created = bare.config("a")
    bare.server.compact()
    assert bare.get(f"{bare.configmaps}/a?resourceVersion={version_of(created)}") == created
    assert bare.get(f"{bare.configmaps}/a?resourceVersion=1") == created
