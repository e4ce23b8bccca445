"""Commands in pages use existing targets, extras, options, benchmarks and modules."""

from __future__ import annotations

import importlib.util
import io
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Final

import pytest
from pages_shown import ROOT, name_of, pages, snippets

from benchmarks._rows import UnknownNames, all_rows, select
from kubeproto_cli import main

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS: Final = set(re.findall(r"^([a-z][\w -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
INLINE: Final = re.compile(r"`((?:make|pip install|kubeproto|python -m benchmarks) [^`…]+)`")


def commands_of_pages() -> Iterator[tuple[str, list[str]]]:
    """Yield each command of each page with its location."""
    for page in pages():
        for snippet in snippets(page):
            if snippet.language in ("shell", "console", ""):
                for number, line in enumerate(snippet.text.splitlines()):
                    for command in line.removeprefix("$ ").split(" | "):
                        if command_words := shlex.split(command, comments=True):
                            yield f"{name_of(page)}:{snippet.line + number + 1}", command_words
        for number, line in enumerate(page.read_text().splitlines()):
            for command in INLINE.findall(line):
                yield f"{name_of(page)}:{number + 1}", shlex.split(command)


def check_make(command_words: list[str]) -> None:
    targets = [argument for argument in command_words if "=" not in argument]
    targets_of_make = {target for line in TARGETS for target in line.split()}
    assert set(targets) <= targets_of_make, f"no such target among {sorted(targets_of_make)}"


def check_pip(command_words: list[str]) -> None:
    for argument in command_words[1:]:
        if requirement := re.fullmatch(r"kubeproto(?:\[(.*)\])?", argument):
            extras = set(requirement[1].split(",")) if requirement[1] else set[str]()
            assert extras <= set(PROJECT["optional-dependencies"])


def check_kubeproto(command_words: list[str]) -> None:
    command, *arguments = (
        command_words[: command_words.index("--")] if "--" in command_words else command_words
    )  # the rest is for a container
    help_text = io.StringIO()
    with redirect_stdout(help_text):
        assert main([command, "--help"]) == 0, f"no command {command}"
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", help_text.getvalue(), re.MULTILINE))
    assert {argument for argument in arguments if argument.startswith("--")} <= options


def check_python(command_words: list[str]) -> None:
    if command_words[0] != "-m":
        return
    module, *arguments = command_words[1:]
    assert importlib.util.find_spec(module), f"no module {module}"
    if module == "benchmarks":
        if arguments[:1] not in (["compare"], ["report"]):
            names = [
                argument
                for argument in arguments
                if not argument.startswith("--") and not argument.endswith(".json")
            ]
            select(names, all_rows())
        assert {argument for argument in arguments if argument.startswith("--")} <= {
            "--quick",
            "--json",
            "--save",
        }


CHECKS: Final[dict[str, Callable[[list[str]], None]]] = {
    "make": check_make,
    "pip": check_pip,
    "kubeproto": check_kubeproto,
    "python": check_python,
    "python3": check_python,
}

COMMANDS: Final = [
    pytest.param(command_words, id=location)
    for location, command_words in commands_of_pages()
    if command_words[0] in CHECKS
]


@pytest.mark.parametrize("command_words", COMMANDS)
def test_a_command_of_a_page_exists(command_words: list[str]) -> None:
    CHECKS[command_words[0]](command_words[1:])


def test_commands_are_found() -> None:
    assert {command_words[0] for _, command_words in commands_of_pages()} >= {
        "make",
        "pip",
        "kubeproto",
        "python",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        "make nothing",
        "pip install kubeproto[nothing]",
        "kubeproto serve --nothing",
        "kubeproto nothing",
        "python -m benchmarks nothing",
    ],
)
def test_an_unknown_command_is_detected(wrong: str) -> None:
    program, *command_words = shlex.split(wrong)
    with pytest.raises((AssertionError, UnknownNames)):
        CHECKS[program](command_words)


def test_the_table_of_the_command_line_has_each_command() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `kubeproto ")]
    commands_of_page = [name for cell in cells for name in re.findall(r"`kubeproto ([a-z-]+)`", cell)]
    with redirect_stdout(io.StringIO()) as output:
        assert main(["--help"]) == 0
    listed_commands = re.findall(
        r"^  ([a-z-]+)  +\S", output.getvalue().partition("Commands:")[2], re.MULTILINE
    )
    assert sorted(commands_of_page) == sorted(listed_commands)
