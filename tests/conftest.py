"""Rules of all tests: a skip needs a missing tool, and slowness is not a failure.

A test that needs an external tool is marked, `@pytest.mark.needs("go")`, and is skipped where the tool is
missing. Under `CI` any other skip fails.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import hypothesis
import pytest
from asked_release import is_asked

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Container images disable bytecode files: hundreds of processes would compile their imports, and pytest would
# compile each test module, which takes longer than most of its tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# With deadlines and health checks the verdict would depend on the speed of the machine.
hypothesis.settings.register_profile(
    "here", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# In CI the same commit gets the same verdict; other runs search for new examples.
hypothesis.settings.register_profile(
    "ci", parent=hypothesis.settings.get_profile("here"), derandomize=True, database=None, print_blob=True
)
FEWER_EXAMPLES = 30

MISSING = pytest.StashKey[str]()
ONLY_BY_NEED = 'a skip needs a missing tool: say which by @pytest.mark.needs("tool")'


def missing(tool: str) -> bool:
    """Return whether neither a program nor a Python module of that name is installed.

    ``peer:kr8s`` is another client with its dependencies, which `make peers` installs. ``kernel:tcp_diag`` is
    the part of Linux that reports connections, which a kernel may lack.
    """
    kind, _, name = tool.rpartition(":")
    if kind == "peer":
        from benchmarks._peer_programs import command

        return command(name) is None
    if kind == "kernel":
        # Imported by name: only the folder of the marked tests has the module.
        return not importlib.import_module("contract_sockets").has_tcp_diag()
    return shutil.which(tool) is None and importlib.util.find_spec(tool) is None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="all examples of each property, and what takes long: how the gate and the mutants test",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Background jobs of a shell ignore Ctrl-C, and so would the programs that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    profile = "ci" if os.environ.get("CI") else "here"
    if not config.getoption("--thorough"):
        base = hypothesis.settings.get_profile(profile)
        profile = "quick"
        hypothesis.settings.register_profile(profile, parent=base, max_examples=FEWER_EXAMPLES)
    hypothesis.settings.load_profile(profile)
    config.addinivalue_line(
        "markers", "thorough(what): takes long for what it adds; runs in the gate, by --thorough"
    )
    config.addinivalue_line(
        "markers", "needs(*tools): programs or Python modules without which this test cannot run"
    )
    config.addinivalue_line(
        "markers",
        "kubernetes(since, gate): what older releases do otherwise, or those without a feature gate",
    )
    config.addinivalue_line(
        "markers", "one_python: runs on a single Python, as another Python would not change the result"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes of `-n auto`: many tests wait, and leave a core to others."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Objects of the collection live to the end, so the garbage collector need not search them.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    quick = not config.getoption("--thorough")
    left_out = {item for item in items if is_newer(item) or (quick and item.get_closest_marker("thorough"))}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def is_newer(item: pytest.Item) -> bool:
    """Return whether the tested release lacks the feature of a test."""
    return not all(is_asked(*marker.args, **marker.kwargs) for marker in item.iter_markers("kubernetes"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            if missing(tool):
                item.stash[MISSING] = tool
                how = "peers" if tool.startswith("peer:") else "browser" if tool == "chromium" else ""
                pytest.skip(f"{tool} is not on this machine{f'; `make {how}` brings it' if how else ''}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # pytest reports an expected failure as a skip, too.
    if report.skipped and not hasattr(report, "wasxfail") and MISSING not in item.stash:
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        refuse_skip(report)
    return report


@pytest.fixture
def browser_page() -> Generator[Page]:
    """Yield a page of headless Chromium, for tests with `@pytest.mark.needs("chromium")`.

    Playwright runs an event loop in this thread, so servers run in another thread or process.
    """
    from browsing import open_page  # imported here, because few tests open a browser

    with open_page() as page:
        yield page


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr}\n{ONLY_BY_NEED}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"skipped: {report.nodeid}: {reason}")
    terminalreporter.write_line(f"skips: {len(skipped)}")
