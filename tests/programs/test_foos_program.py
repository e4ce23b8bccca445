"""The web page of Foos as a process: a browser shows the right state after failures."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Generator
from socket import SO_RCVBUF, SOL_SOCKET, socket
from typing import TYPE_CHECKING

import pytest
from program_rig import Program, Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

PROGRAM = "foos/foos.py"


@pytest.fixture(scope="module")
def with_definition(forgetful: Site) -> Generator[Site]:
    with forgetful.with_kind(forgetful.printed(PROGRAM, "--definition"), "foos.clux.dev") as site:
        yield site


@pytest.fixture
def site_of_foos(with_definition: Site) -> Generator[Site]:
    """Yield a namespace on the server without a watch cache."""
    with with_definition.in_new_namespace() as site:
        yield site


def make_foo(name: str, info: str) -> str:
    spec = json.dumps({"name": f"the {name}", "info": info})
    return f"apiVersion: clux.dev/v1\nkind: Foo\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def address(program: Program) -> str:
    return program.until(r"running on (http://\S+)")[1]


def read(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url) as response:
        return response.status, response.read().decode()


@pytest.mark.thorough("a browser beside the program, and a dozen calls of kubectl")
@pytest.mark.needs("chromium")
def test_the_page_is_correct_after_changes_a_disconnect_and_an_expired_version(
    site_of_foos: Site, browser_page: Page
) -> None:
    from playwright.sync_api import expect

    with (
        site_of_foos.behind_a_proxy() as (site, line),
        site.running(PROGRAM, "--port", "0", NAMESPACE=site_of_foos.namespace) as program,
    ):
        rows, state = browser_page.locator("tbody tr"), browser_page.locator("#state")
        browser_page.goto(address(program))
        expect(state).to_have_text("0 foos")
        site_of_foos.kubectl("apply -f -", make_foo("first", "<b>bold</b> & <script>fail()</script>"))
        expect(rows).to_have_count(1)
        expect(rows.locator("td")).to_have_text(
            ["first", "the first", "<b>bold</b> & <script>fail()</script>"]
        )
        site_of_foos.kubectl("apply -f -", make_foo("second", "soon gone"))
        expect(rows).to_have_count(2)
        site_of_foos.kubectl("delete foo/first")
        expect(rows.locator("td:first-child")).to_have_text(["second"])
        expect(state).to_have_text("1 foos")

        with line.disconnect():
            expect(state).to_contain_text("1 foos, some time ago: ")
            site_of_foos.kubectl("delete foo/second")
            site_of_foos.kubectl("apply -f -", make_foo("third", "unseen"))
            site_of_foos.kubectl("apply -f -", make_foo("fourth", "unseen, too"))
            site_of_foos.kubectl("delete foo/fourth")
            site_of_foos.compact()
        expect(rows.locator("td")).to_have_text(["third", "the third", "unseen"])
        expect(state).to_have_text("1 foos")
        program.until("410|Expired|expired|too old")
        site_of_foos.kubectl('patch foo/third --type=merge -p {"spec":{"info":"seen"}}')
        expect(rows.locator("td:last-child")).to_have_text(["seen"])

        program.terminate()
        expect(state).to_have_text("the application does not answer; connecting …")


def test_json_and_health_come_from_the_cache(site_of_foos: Site) -> None:
    with site_of_foos.running(PROGRAM, "--port", "0", NAMESPACE=site_of_foos.namespace) as program:
        base = address(program)
        site_of_foos.kubectl("apply -f -", make_foo("only", "x"))
        stream = urllib.request.urlopen(f"{base}/events")
        while b"the only" not in stream.readline():
            pass
        assert json.loads(read(f"{base}/foos")[1]) == [{"object": "only", "name": "the only", "info": "x"}]
        assert read(f"{base}/healthz") == (200, "ok\n")
        assert read(f"{base}/readyz") == (200, "in sync\n")
        program.process.terminate()
        assert stream.read() == b"\n"  # it stops without waiting for the page
        stream.close()
        program.until("Finished server process")


def test_a_page_that_stops_reading_does_not_block_the_end_of_the_application(site_of_foos: Site) -> None:
    with (
        site_of_foos.running(PROGRAM, "--port", "0", NAMESPACE=site_of_foos.namespace) as program,
        socket() as idle,
    ):
        base = address(program)
        idle.setsockopt(SOL_SOCKET, SO_RCVBUF, 4096)
        idle.connect(("127.0.0.1", int(base.rpartition(":")[2])))
        idle.sendall(b"GET /events HTTP/1.1\r\nHost: foos\r\n\r\n")
        assert idle.recv(15) == b"HTTP/1.1 200 OK"
        # Larger than the socket's buffer: the stream waits for its reader from here on.
        large = "---\n".join(make_foo(f"large-{number}", "x" * 800_000) for number in range(10))
        site_of_foos.kubectl("create -f -", large)
        while len(json.loads(read(f"{base}/foos")[1])) < 10:
            pass
        program.terminate()
        assert "Finished server process" in program.printed


@pytest.mark.thorough("a process for a single message")
def test_an_application_without_a_definition_reports_the_missing_kind(cluster: Site, site: Site) -> None:
    with site.running(PROGRAM, "--port", "0") as program:
        base = address(program)
        for path in ("foos", "readyz"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                read(f"{base}/{path}")
            assert refused.value.code == 503
            refused.value.close()
        assert read(f"{base}/healthz")[0] == 200
