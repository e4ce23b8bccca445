"""The browser of the tests runs scripts, reaches only this machine, and reports failing scripts."""

from __future__ import annotations

import pytest
from browsing import open_page
from playwright.sync_api import Page, expect

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.one_python,
    pytest.mark.thorough("a browser only for the fixture, which tests/runtime/test_debug_page.py uses too"),
]


def test_scripts_run(browser_page: Page) -> None:
    browser_page.set_content("<h1>old</h1><script>document.querySelector('h1').textContent = 'new'</script>")
    expect(browser_page.locator("h1")).to_have_text("new")


def test_a_script_that_fails_and_a_foreign_resource_fail_the_test() -> None:
    with (
        pytest.raises(
            AssertionError, match=r"(?s)asked for https://example.com/x.js.*a script failed: .*boom"
        ),
        open_page() as page,
    ):
        page.set_content("<script src=https://example.com/x.js></script><script>throw Error('boom')</script>")
