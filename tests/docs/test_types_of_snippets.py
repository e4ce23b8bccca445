"""The programs of the pages pass mypy strict, as in a user's editor.

The blocks of a page form a module, as in the test that runs them; a block with a file name is that file.
Line numbers are preserved, so a finding points into the page.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pages_shown import ROOT, name_of, pages, snippets

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.thorough("mypy reads the whole project when nothing is in its cache"),
]

# A page may define a name twice to show two ways, and may call Twisted's untyped functions.
PERMITTED: Final = ("no-redef", "no-untyped-call")
PROGRAM: Final = "program"


def write_modules(folder: Path) -> dict[str, str]:
    """Write the programs of each page as a package, and return the page of each module."""
    page_of_module: dict[str, str] = {}
    for page in pages():
        package = re.sub(r"\W", "_", name_of(page).removesuffix(".md"))
        modules: dict[str, list[str]] = {}
        for snippet in snippets(page):
            # A script with its own pins runs elsewhere, and imports packages that are not installed here.
            if snippet.language == "python" and "# /// script" not in snippet.text:
                lines = modules.setdefault(snippet.file.removesuffix(".py") or PROGRAM, [])
                lines += [""] * (snippet.line - len(lines)) + snippet.text.splitlines()
        # The files of a page import each other, and two pages may both have a books.py.
        siblings = re.compile(rf"^from (?=(?:{'|'.join(modules)}) import )", re.MULTILINE)
        for name, lines in modules.items():
            path = folder / package / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            (path.parent / "__init__.py").touch()
            # No block is in the first line of a page. As an option of the command, this setting would disable
            # the cache of the gate's run.
            assert lines[0] == "", path
            lines[0] = f'# mypy: disable-error-code="{", ".join(PERMITTED)}"'
            path.write_text(siblings.sub("from .", "\n".join(lines) + "\n"))
            page_of_module[f"{package}/{name}.py"] = name_of(page)
    return page_of_module


def findings(folder: Path, sources: dict[str, str]) -> Iterator[str]:
    """Yield the findings of mypy, with pages instead of modules."""
    command = [
        sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context",
        *(str(folder / source) for source in sources),
    ]  # fmt: skip
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode in (0, 1), completed.stderr
    for line in completed.stdout.splitlines():
        name, colon, message = line.partition(":")
        # A cached finding has the folder of an earlier run.
        yield f"{sources.get('/'.join(Path(name).parts[-2:]), name)}{colon}{message}"


def test_the_programs_of_the_pages_pass_mypy_strict_which_finds_a_wrong_type(tmp_path: Path) -> None:
    sources = write_modules(tmp_path)
    lines = (tmp_path / "README/program.py").read_text().splitlines()
    line_number = next(number for number, line in enumerate(lines) if "return await_change()" in line)
    lines[line_number] = "    return book.spec.titel"
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong/__init__.py").touch()
    (tmp_path / "wrong/program.py").write_text("\n".join(lines))
    lines_of_mypy = list(findings(tmp_path, {**sources, "wrong/program.py": "a wrong README.md"}))
    prefix = f"a wrong README.md:{line_number + 1}: error: "
    assert [finding for finding in lines_of_mypy if not finding.startswith(prefix)] == []
    assert [finding for finding in lines_of_mypy if '"BookSpec" has no attribute "titel"' in finding]
