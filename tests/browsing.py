"""A page of headless Chromium, for tests of what is served to browsers; `browser_page` in `conftest.py`.

Playwright drives it: it speaks to the browser itself, where Selenium needs a driver of the browser's version
beside it. The browser is the machine's own, which `make browser` installs: nothing is downloaded.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, Route, expect, sync_playwright

WITHIN: Final = 60_000  # ms for whatever a test waits for: a busy machine is not a failure
# The tests run as root in containers, where Chromium's sandbox cannot be had and /dev/shm is small.
ARGUMENTS: Final = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@contextmanager
def opened_page() -> Generator[Page]:
    """A page of a browser of its own; failing scripts and requests to other machines fail the test."""
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
