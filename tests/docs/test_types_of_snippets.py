"""The programs of the pages pass mypy strict, as a user's editor would check them.

The blocks of a page are one module, as they are one program to the test that runs them; a block with the name
of a file is that file. Lines keep their numbers, so that a finding points into the page.
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

# A page may show one thing in two ways, under one name; and what Twisted leaves untyped, a page may call.
PERMITTED: Final = ("no-redef", "no-untyped-call")
PROGRAM: Final = "program"


def write_modules(folder: Path) -> dict[str, str]:
    """Write the programs of each page as a package of modules, and return which page each is from."""
    found: dict[str, str] = {}
    for page in pages():
        package = re.sub(r"\W", "_", name_of(page).removesuffix(".md"))
        modules: dict[str, list[str]] = {}
        for one in snippets(page):
            # A script with pins of its own runs elsewhere, and imports what is not here.
            if one.language == "python" and "# /// script" not in one.text:
                lines = modules.setdefault(one.file.removesuffix(".py") or PROGRAM, [])
                lines += [""] * (one.line - len(lines)) + one.text.splitlines()
        # The files of a page import each other, and two pages may each have a books.py.
        siblings = re.compile(rf"^from (?=(?:{'|'.join(modules)}) import )", re.MULTILINE)
        for name, lines in modules.items():
            path = folder / package / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(siblings.sub("from .", "\n".join(lines) + "\n"))
            found[f"{package}/{name}.py"] = name_of(page)
    return found


def findings(folder: Path, sources: dict[str, str]) -> Iterator[str]:
    """What mypy says of modules, in terms of their pages."""
    command = [
        sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary",
        "--hide-error-context", *(f"--disable-error-code={code}" for code in PERMITTED), *sources,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    for line in done.stdout.splitlines():
        name, colon, rest = line.partition(":")
        yield f"{sources.get(name, name)}{colon}{rest}"


def test_the_programs_of_the_pages_pass_mypy_strict(tmp_path: Path) -> None:
    sources = write_modules(tmp_path)
    assert list(findings(tmp_path, sources)) == []


def test_a_wrong_type_is_found_with_its_page_and_line(tmp_path: Path) -> None:
    sources = write_modules(tmp_path)
    readme = tmp_path / "README/program.py"
    lines = readme.read_text().splitlines()
    wrong = next(number for number, line in enumerate(lines) if "return await_change()" in line)
    lines[wrong] = "    return book.spec.titel"
    readme.write_text("\n".join(lines))
    found = list(findings(tmp_path, {"README/program.py": sources["README/program.py"]}))
    assert f'README.md:{wrong + 1}: error: "BookSpec" has no attribute "titel"' in found[-1]
