"""The map from the conformance list to the tests: read it, check it, and enter tests by their ids.

`make map` enters the tests of each unproven row whose id is in the name of a test.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).resolve().parent
MAP: Final = TESTS / "conformance.toml"

AN_ID: Final = re.compile(r"(?<=_)([a-z]{1,2})_(\d\d[b-z]?)(?=_|$)")


def read(path: Path = MAP) -> dict[str, Any]:
    """Read the map."""
    return tomllib.loads(path.read_text())


def expected(count: dict[str, Any]) -> set[str]:
    """Return every id of the list."""
    ids = {
        f"{letters}-{n:02}"
        for letters, last in count.items()
        if letters != "others"
        for n in range(1, last + 1)
    }
    return ids | set(count["others"])


def known_tests(root: Path = TESTS) -> set[str]:
    """Return the names of all tests, read from the sources: `tests/x/test_y.py::test_z`."""
    tests: set[str] = set()
    for path in sorted(root.rglob("test_*.py")):
        file = path.relative_to(root.parent).as_posix()
        tests |= {f"{file}::{name}" for name in names(ast.parse(path.read_text()).body)}
    return tests


def names(body: list[ast.stmt]) -> set[str]:
    """Yield the tests in a module or a class, also Hypothesis' `TestX = Machine.TestCase`."""
    tests: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                tests.add(name)
            case ast.ClassDef(name=name) if name.startswith("Test"):
                tests |= {name, *(f"{name}::{inner}" for inner in names(node.body))}
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
                tests.add(name)
            case _:
                pass
    return tests


def find_mistakes(conformance: dict[str, Any], tests: set[str]) -> list[str]:
    """Return a sentence about each mistake in the map."""
    rows: dict[str, dict[str, Any]] = conformance["rows"]
    ids = expected(conformance["count"])
    mistakes = [f"{row} is not mapped" for row in sorted(ids - rows.keys())]
    mistakes += [f"{row} is not in the list" for row in sorted(rows.keys() - ids)]
    mistakes += [
        f"the part {part!r} that is done is not known"
        for part in conformance["done"]
        if part not in conformance["parts"]
    ]
    for row, form in rows.items():
        match form:
            case {"test": str() as test, **rest} if not rest:
                mistakes += [f"{row}: there is no test {test}"] if test not in tests else []
            case {"test": [_, *_] as several, **rest} if not rest:
                mistakes += [f"{row}: there is no test {test}" for test in several if test not in tests]
            case {"later": part, **rest} if not rest and part in conformance["parts"]:
                mistakes += (
                    [f"{row}: {part} is done, and this is still to come"]
                    if part in conformance["done"]
                    else []
                )
            case {"not": str() as reason, **rest} if not rest and reason.strip():
                pass
            case _:
                mistakes.append(f"{row} = {form} is not one of test, later (a known part) and not (a reason)")
    return mistakes


def tests_by_id(tests: set[str], ids: set[str]) -> dict[str, list[str]]:
    """Return the tests with ids in their names by id; a name may contain several ids."""
    tests_of_row: dict[str, list[str]] = {}
    for test in sorted(tests):
        for letters, number in AN_ID.findall(test.rpartition("::")[2]):
            row = f"{letters.upper()}-{number}"
            if row in ids:
                tests_of_row.setdefault(row, []).append(test)
    return tests_of_row


def enter_tests(text: str, tests_of_row: dict[str, list[str]]) -> str:
    """Return the file's text with the new tests entered; other rows are unchanged."""
    for row, tests in tests_of_row.items():
        value = f'"{tests[0]}"' if len(tests) == 1 else "[" + ", ".join(f'"{test}"' for test in tests) + "]"
        text = re.sub(rf"(?m)^{row} = {{ later = .*$", f"{row} = {{ test = {value} }}", text)
    return text


def main() -> None:
    text = MAP.read_text()
    updated = enter_tests(text, tests_by_id(known_tests(), expected(read()["count"])))
    MAP.write_text(updated)
    sys.stdout.write(f"{text.count('{ later =') - updated.count('{ later =')} rows entered\n")


if __name__ == "__main__":
    main()
