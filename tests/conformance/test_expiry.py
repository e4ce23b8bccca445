"""The four faces of 410, on a server whose history was compacted."""

from __future__ import annotations

from conformance.client import Client, names, version_of


def test_sv_02_a_page_of_what_is_forgotten_is_gone_and_its_response_goes_on_with_what_is_there(
    bare: Client,
) -> None:
    for name in "abcd":
        bare.config(name)
    token = bare.get(f"{bare.configmaps}?limit=2")["metadata"]["continue"]
    bare.config("bb")
    bare.server.compact()
    status = bare.refused("GET", f"{bare.configmaps}?limit=2&continue={token}")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("The provided continue parameter is too old")
    rest = bare.get(f"{bare.configmaps}?continue={status['metadata']['continue']}")
    assert names(rest) == ["bb", "c", "d"]


def test_an_exact_version_that_is_forgotten_is_gone(bare: Client) -> None:
    then = version_of(bare.config("a"))
    bare.config("b")
    bare.server.compact()
    for query in ("resourceVersionMatch=Exact&", "limit=5&"):
        status = bare.refused("GET", f"{bare.configmaps}?{query}resourceVersion={then}")
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"] == "The resourceVersion for the provided list is too old."
    assert names(bare.get(f"{bare.configmaps}?resourceVersion={then}")) == ["a", "b"]


def test_sv_06_a_watch_from_what_is_forgotten_is_gone_in_the_stream(bare: Client) -> None:
    then = version_of(bare.config("a"))
    bare.config("b")
    bare.config("c")
    bare.server.compact()
    with bare.watch(f"{bare.configmaps}?resourceVersion={then}") as stream:
        [(change, status)] = stream.rest()
    assert (stream.status, change) == (200, "ERROR")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"] == "The resourceVersion for the provided watch is too old."


def test_a_watch_from_the_version_of_a_list_goes_on_after_a_compaction(bare: Client) -> None:
    bare.config("a")
    bare.server.compact()
    since = version_of(bare.get(bare.configmaps))
    with bare.watch(f"{bare.configmaps}?resourceVersion={since}") as stream:
        bare.config("b")
        assert stream.told(1) == [("ADDED", "b")]


def test_a_get_never_expires(bare: Client) -> None:
    made = bare.config("a")
    bare.server.compact()
    assert bare.get(f"{bare.configmaps}/a?resourceVersion={version_of(made)}") == made
    assert bare.get(f"{bare.configmaps}/a?resourceVersion=1") == made
