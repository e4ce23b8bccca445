"""Every Python snippet of the README and the documentation runs, and prints the output in the page.

The snippets of a page form a program, in their order. A ```text block after a snippet is its output, line by
line; omitted lines are a line of `…`. A snippet with a file name is that file: files named test_… run under
pytest, and a file before a ```text block is imported by a new process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from itertools import pairwise
from pathlib import Path

import pytest
from pages_shown import Snippet, name_of, pages, snippets

# The plugins of the package, which users get by entry point; loading all installed plugins takes five
# seconds.
PLUGINS = ("-p", "no:cacheprovider", "-p", "kubeproto_sim._fixtures", "-p", "kubeproto_serve._fixtures")
END = Snippet("", "", 0)
PROGRAMS = [page for page in pages() if any(snippet.language == "python" for snippet in snippets(page))]


def with_blank_lines(page: Path, snippet: Snippet) -> types.CodeType:
    # With the original line numbers a failure points into the page.
    return compile("\n" * snippet.line + snippet.text, str(page), "exec")


def assert_printed(expected: str, output: str, source: str) -> None:
    """Check that each part of the expected output occurs, in order."""
    position = 0
    for part in re.split(r"^…\n", expected, flags=re.MULTILINE):
        start = output.find(part, position)
        assert start >= 0, f"{source} shows\n{part}\nand prints\n{output}"
        position = start + len(part)


@pytest.mark.parametrize("page", PROGRAMS, ids=name_of)
def test_the_snippets_of_a_page_run_and_print_its_output(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = re.sub(r"\W", "_", name_of(page))
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    output = ""
    blocks = [*snippets(page), END]
    for snippet, behind in pairwise(blocks):
        source = f"{name_of(page)}:{snippet.line + 1}"
        if snippet.language == "text":
            assert_printed(snippet.text, output, source)
        elif snippet.file:
            (tmp_path / snippet.file).write_text(snippet.text)
            if snippet.language == "python" and behind.language == "text":
                output = run_python(tmp_path, "-c", f"import {snippet.file.removesuffix('.py')}")
        elif snippet.language == "python":
            exec(with_blank_lines(page, snippet), module.__dict__)
            output = capsys.readouterr().out
    if list(tmp_path.glob("test_*.py")):
        run_python(tmp_path, "-m", "pytest", "-q", *PLUGINS, str(tmp_path))


def run_python(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, and return its output."""
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    completed = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def test_missing_output_is_detected() -> None:
    assert_printed("one\n…\nthree\n", "one\ntwo\nthree\n", "a page")
    with pytest.raises(AssertionError, match="a page shows"):
        assert_printed("three\n…\none\n", "one\ntwo\nthree\n", "a page")
