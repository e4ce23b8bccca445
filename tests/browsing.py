"""A page of headless Chromium, for tests of web pages; the fixture is `browser_page` in `conftest.py`.

Playwright connects to the browser directly, while Selenium needs a driver that matches the browser's version.
`make browser` installs the browser of the machine; tests download nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, Route, expect, sync_playwright

WITHIN: Final = 60_000  # ms for each wait of a test: a busy machine is not a failure
# The tests run as root in containers, where Chromium's sandbox is unavailable and /dev/shm is small.
ARGUMENTS: Final = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@contextmanager
def open_page() -> Generator[Page]:
    """Yield a page of a new browser; failing scripts and requests to other machines fail the test."""
    problems: list[str] = []

    def route(route: Route, request: Request) -> None:
        if urlsplit(request.url).hostname in ("127.0.0.1", "localhost"):
            route.continue_()
        else:
            problems.append(f"the page asked for {request.url}")
            route.abort()

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        try:
            page = browser.new_page()
            page.set_default_timeout(WITHIN)
            expect.set_options(timeout=WITHIN)
            page.on("pageerror", lambda error: problems.append(f"a script failed: {error}"))
            page.route("**/*", route)
            yield page
        finally:
            browser.close()
    assert not problems, problems
