"""The debug page: what it shows of an operator, to whom, and what it never shows."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final
from urllib.request import urlopen

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Page

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.objects import Status
from kubeproto_runtime import Action, Context, Controller, Operator, ReconcileTimeout, Terminal, requeue
from kubeproto_runtime.operator._debug_page import debug_page
from kubeproto_runtime.operator._debug_state import CacheState, DebugState, Sample
from kubeproto_runtime.operator._health import HealthPages, respond
from kubeproto_runtime.reconciling._failing_keys import error_summary
from kubeproto_runtime.reconciling._metrics import SlowestRuns
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

SECRET: Final = "s3cret-of-the-book"


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="debug.example.com", version="v1", plural="books"):
    """A book."""


async def reconcile(book: Book, ctx: Context[None]) -> Action:
    match ctx.name:
        case "wrong":
            raise ValueError(f"cannot shelve {book.spec.title}")
        case "refused":
            label = ConfigMap(metadata=kp.ObjectMeta(name="moby", labels={"a": f"{book.spec.title}!"}))
            await ctx.api(ConfigMap).create(label)
        case "given-up":
            raise Terminal(f"nothing helps {book.spec.title}")
        case "slow":
            await anyio.sleep(3)
        case _:
            pass
    return requeue(after=60)


async def put_books(client: SimulatedClient) -> None:
    for name in ("right", "wrong", "refused", "given-up", "slow"):
        metadata = kp.ObjectMeta(name=name, annotations={"note": SECRET})
        await client.api(Book).create(Book(metadata=metadata, spec=BookSpec(title=SECRET)))


def state_after(seconds: float, backend: Backend) -> dict[str, Any]:
    """What /debug.json holds of an operator after some virtual seconds."""

    found: dict[str, Any] = json.loads(pages_after(seconds, backend)["/debug.json"])
    return found


def pages_after(seconds: float, backend: Backend) -> dict[str, str]:
    """Both pages of an operator after some virtual seconds."""

    async def body() -> dict[str, str]:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            operator = Operator(port=0, host="127.0.0.1")
            client.start(operator.run(Controller(client, Book).owns(ConfigMap).run(reconcile)))
            await put_books(client)
            await anyio.sleep(seconds)
            pages = HealthPages(operator.healthy, operator.ready, operator.metrics, debug=operator.debug)
            return {
                path: pages.page("GET", path, on_loopback=True).text for path in ("/debug", "/debug.json")
            }

    return run(body, backend=backend)


async def asked(port: int, path: str) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        said = b""
        try:
            while True:
                said += await stream.receive()
        except anyio.EndOfStream:
            return said


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_tells_of_each_controller_its_queue_its_failures_and_its_slowest_runs(backend: Backend) -> None:
    [controller] = state_after(30, backend)["controllers"]
    assert (controller["name"], controller["resource"]) == ("book", "books.debug.example.com/v1")
    assert (controller["synced"], controller["running"], controller["due"]) == (True, 0, 0)
    failing = {one["key"]: one for one in controller["failing"]}
    assert failing.keys() == {"default/wrong", "default/refused", "default/given-up"}
    assert re.fullmatch(
        r"ValueError in reconcile, test_debug_page\.py line \d+", failing["default/wrong"]["error"]
    )
    assert failing["default/refused"]["error"] == (
        "Invalid: POST /api/v1/namespaces/default/configmaps: 422 Invalid"
    )
    assert failing["default/wrong"]["attempt"] > 5
    assert failing["default/wrong"]["retriedIn"] > 0
    assert failing["default/given-up"]["retriedIn"] is None
    assert controller["slowest"][0]["key"] == "default/slow"
    assert controller["slowest"][0]["seconds"] == pytest.approx(3)
    assert controller["delayed"] == 4  # two wait for their minute, two for their next attempt


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_tells_of_each_cache_its_size_its_version_and_how_its_watch_is_doing(backend: Backend) -> None:
    caches = {one["place"]: one for one in state_after(5, backend)["caches"]}
    books = caches["books.debug.example.com/v1"]
    assert (books["objects"], books["state"], books["live"], books["why"]) == (5, "Watching", True, "")
    assert books["size"] > 5 * len(SECRET)
    assert int(books["version"]) > 0
    assert caches["configmaps/v1"]["objects"] == 0
    assert books["silent"] is not None


def test_the_history_holds_ten_minutes_in_steps_of_five_seconds() -> None:
    history = state_after(1200, "asyncio")["history"]
    assert len(history) == 120
    steps = {round(late["at"] - early["at"], 3) for early, late in pairwise(history)}
    assert steps == {5.0}


def test_what_ended_is_counted_in_the_sample_after_it() -> None:
    first, second, *_ = state_after(12, "asyncio")["history"]
    assert (first["ended"], first["failed"]) == (0, 0)
    assert second["ended"] > second["failed"] > 0


@pytest.mark.parametrize("path", ["/debug", "/debug.json"])
def test_no_content_of_an_object_is_on_it_nor_what_an_error_says(path: str) -> None:
    said = pages_after(10, "asyncio")[path]
    assert "default/refused" in said
    assert SECRET not in said


class OwnError(Exception):
    pass


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (
            kp.Forbidden(
                Status(code=403, reason="Forbidden", message=SECRET), request=f"GET /api/v1/pods?a={SECRET}"
            ),
            "Forbidden: GET /api/v1/pods: 403 Forbidden",
        ),
        (kp.TransportError("the connection was reset"), "TransportError: the connection was reset"),
        (
            ReconcileTimeout("the reconcile of a/b took 3 s"),
            "ReconcileTimeout: the reconcile of a/b took 3 s",
        ),
        (OwnError(SECRET), "OwnError"),
        (Terminal(SECRET), "Terminal"),
        (kp.InvalidObject(SECRET), "InvalidObject"),
    ],
)
def test_of_an_error_it_tells_what_it_was_about(error: Exception, summary: str) -> None:
    assert error_summary(error) == summary


def test_of_a_programs_own_error_it_tells_where_it_was_raised() -> None:
    shown = error_summary(raised(OwnError(SECRET)))
    assert re.fullmatch(r"OwnError in raised, test_debug_page\.py line \d+", shown)


def test_the_slowest_runs_are_kept_and_no_others() -> None:
    slowest = SlowestRuns()
    for number in range(100):
        seconds = float((number * 37) % 100)
        if seconds > slowest.threshold:
            slowest.add(f"key-{number}", seconds, float(number))
    assert [seconds for _, seconds, _ in slowest.runs] == [float(99 - at) for at in range(10)]
    slowest.add(slowest.runs[3][0], 200.0, 101.0)
    slowest.add(slowest.runs[0][0], 150.0, 102.0)  # not the slowest of its key
    expected = [200.0, 99.0, 98.0, 97.0, 95.0, 94.0, 93.0, 92.0, 91.0, 90.0]
    assert [seconds for _, seconds, _ in slowest.runs] == expected


# To whom it is shown


def shown(pages: HealthPages, peer: str, host: str, path: str = "/debug") -> int:
    return respond(pages, kp.RawRequest("GET", path, (("Host", host),)), peer).status


EMPTY: Final = DebugState("kubeproto", 1.0, "", True, "", (), (), ())
PAGES: Final = HealthPages(lambda: (True, ""), lambda: (True, ""), lambda: "", debug=lambda: EMPTY)


@pytest.mark.parametrize("path", ["/debug", "/debug.json"])
@pytest.mark.parametrize(
    ("peer", "host", "status"),
    [
        ("127.0.0.1", "localhost:8080", 200),
        ("127.0.0.1", "127.0.0.1:8080", 200),
        ("127.0.0.1", "localhost", 200),
        ("::1", "[::1]:8080", 200),
        ("::1", "[::1]", 200),
        ("::ffff:127.0.0.1", "localhost:8080", 200),
        ("10.0.0.7", "localhost:8080", 403),
        ("fe80::1%eth0", "localhost:8080", 403),
        ("::ffff:10.0.0.7", "localhost:8080", 403),
        ("", "localhost:8080", 403),
        # A page of somebody else whose name leads to this machine: DNS rebinding.
        ("127.0.0.1", "attacker.example.com:8080", 403),
        ("127.0.0.1", "localhost.example.com", 403),
        ("127.0.0.1", "", 403),
    ],
)
def test_it_is_shown_to_this_machine_alone(path: str, peer: str, host: str, status: int) -> None:
    assert shown(PAGES, peer, host, path) == status


def test_it_is_shown_to_all_where_that_is_wished_and_to_nobody_where_it_is_off() -> None:
    everywhere = HealthPages(
        PAGES.healthy, PAGES.ready, PAGES.metrics, debug=PAGES.debug, debug_everywhere=True
    )
    off = HealthPages(PAGES.healthy, PAGES.ready, PAGES.metrics)
    assert shown(everywhere, "10.0.0.7", "operator.example.com") == 200
    assert shown(off, "127.0.0.1", "localhost") == 404


@pytest.mark.parametrize(("debug", "status"), [(None, b" 200 "), (True, b" 200 "), (False, b" 404 ")])
def test_an_operator_has_it_unless_it_is_told_otherwise(debug: bool | None, status: bytes) -> None:
    async def body() -> bytes:
        said = b""
        operator = Operator(port=0, host="127.0.0.1", debug=debug)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run)
            while not operator.port:
                await anyio.sleep(0.01)
            said = await asked(operator.port, "/debug")
            operator.stop()
        return said

    assert status in anyio.run(body).partition(b"\r\n")[0]


def test_nothing_on_it_is_taken_for_html() -> None:
    cache = CacheState(
        "<b>books</b>", False, False, "Listing", "<script>alert(1)</script>", "", 0, 0, None, 3
    )
    page = debug_page(DebugState("<i>x</i>", 1.0, "a/<u>", False, "<s>", (), (cache,), ()))
    assert not re.search(r"<(b|i|u|s|script)>", page)
    assert "&lt;script&gt;" in page


def test_the_plot_stays_inside_of_its_frame() -> None:
    samples = tuple(Sample(5.0 * at, at * 7 % 50, 0, at * 13 % 90, at % 3) for at in range(300))
    page = debug_page(DebugState("kubeproto", 1.0, "", True, "", (), (), samples))
    points = [
        tuple(map(float, point.split(",")))
        for line in re.findall(r'points="([^"]*)"', page)
        for point in line.split()
    ]
    assert len(points) == 3 * 300
    assert all(0 <= x <= 720 and 0 <= y <= 150 for x, y in points)


# As a browser shows it


@contextmanager
def served() -> Generator[str]:
    """The address of an operator that runs in a thread of its own."""
    ready: list[int] = []

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            operator = Operator(port=0, host="127.0.0.1")
            client.start(operator.run(Controller(client, Book).owns(ConfigMap).run(reconcile)))
            await put_books(client)
            while not (operator.port and operator.ready()[0]):
                await anyio.sleep(0.01)
            ready.append(operator.port)
            await anyio.sleep_forever()

    with start_blocking_portal() as portal:
        running = portal.start_task_soon(main)
        while not ready:
            portal.call(anyio.sleep, 0.01)
        try:
            yield f"http://127.0.0.1:{ready[0]}/debug"
        finally:
            running.cancel()


@pytest.mark.needs("chromium")
@pytest.mark.one_python
def test_a_browser_shows_it_wide_and_narrow_light_and_dark(browser_page: Page) -> None:
    with served() as address:
        browser_page.goto(address)
        for text in ("default/refused", "books.debug.example.com/v1"):
            browser_page.locator("td", has_text=text).first.wait_for()
        # It reloads itself: by then the first samples have come, and they are drawn.
        browser_page.locator("svg polyline").first.wait_for()
        with urlopen(address) as response:
            static_html = response.read().decode().replace('http-equiv="refresh"', "")
    browser_page.set_content(static_html)
    colours: set[str] = set()
    for width, scheme in ((1200, "light"), (390, "dark")):
        browser_page.set_viewport_size({"width": width, "height": 800})
        browser_page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert browser_page.evaluate("document.documentElement.scrollWidth") <= width
        colours.add(browser_page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
