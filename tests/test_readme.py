"""Every Python snippet of the README runs, in order, as one program."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"


def test_the_snippets_of_the_readme_run_in_order(capsys: Any) -> None:
    text = README.read_text(encoding="utf-8")
    program: dict[str, Any] = {"__name__": "readme"}
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: found.start(1)].count("\n")
        # Keeping the line numbers makes a failure point into the README.
        exec(compile("\n" * line + found[1], str(README), "exec"), program)
    said = capsys.readouterr().out
    assert "typee Typee\n" in said
    assert "POST /apis/example.technosophos.com/v1/namespaces/default/books\nMoby-Dick True\n" in said
    assert "GET /apis/example.technosophos.com/v1/namespaces/default/books/moby: 404 NotFound" in said
    assert "over a port: 200\n" in said
    assert "on the shelf: Moby-Dick\n" in said
