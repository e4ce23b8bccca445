"""The fixtures of the README, as pytest runs them: taken from the page, on both event loops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

README = Path(__file__).parents[2] / "README.md"

HEAD = """
import kubeproto as kp
from kubeproto.sim import Cluster
from kubeproto_runtime import Client
from kubeproto_runtime.testing import run, simulated

class BookSpec(kp.Fields):
    title: str

class Book(kp.Object[BookSpec, None], group="example.com", version="v1"):
    pass
"""


@pytest.mark.needs("trio")
def test_the_fixtures_of_the_readme_run_a_test_on_both_loops(pytester: pytest.Pytester) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    [fixtures] = [text for text in snippets if "@pytest.fixture" in text]
    use = "\n\ndef test_blocking(blocking_client):\n    assert blocking_client.api(Book).list().items == []\n"
    pytester.makepyfile(HEAD + fixtures + use)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)
