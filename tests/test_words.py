"""Words that the vocabulary replaces by those of the field do not come back.

`docs/vocabulary.md` says which word to use instead. Names, comments, docstrings, messages and pages are read;
where a Kubernetes server's own text contains such a word, it is permitted.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("kubeproto", "runtime", "transports", "examples", "benchmarks", "tools", "tests", "docs")
PAGES: Final = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "DESIGN.md", "SECURITY.md", ".importlinter")

_NO_NOUN: Final = "longer|more\\b|such|other|need|way|news|progress|reason|trouble|edit|kind of"
_SHELF: Final = r"\bshel(f|ves)\b"
_WORLD: Final = r"\bworlds?\b"
_MIRROR: Final = r"\bmirror(s|ed|ing)?\b"
_FLOOR: Final = r"\bfloors?\b"
_AGAIN: Final = r"\b(try|tries|tried) again\b"

# What is not to be used, and what the vocabulary says instead. Parts of names are words too.
REPLACED: Final = {
    _WORLD: "snapshot, server state",
    _SHELF: "storage",
    _AGAIN: "retry",
    r"\bhusks?\b": "stale entry",
    r"\berrands?\b": "effect",
    r"\bdeeds?\b": "action",
    r"\bwish(es)?\b": "QueuedKey, overrides",
    r"\bripe\b": "ready",
    r"\bdice\b": "rng, randomness",
    _FLOOR: "layer",
    r"\bseams?\b": "interface",
    r"\bdoors?\b": "transport, subresource",
    _MIRROR: "cache",
    r"\bkeepers?\b": "watchdog",
    r"\bunmarked\b": "without an initial-events-end bookmark",
    r"\bthe lead\b": "the lease, leadership",
    r"\bput away\b": "give up",
    r"\b(gives?|gave|given) (it )?back\b": "return, release",
    rf"(?<!there )\b(is|was|are|were) no (?!{_NO_NOUN})[a-z]": "is not a",
    r"\bfor ever\b": "forever",
    r"\b(comes?|came) to be\b": "is made, was made",
    r"\bwhoever\b": "the caller, the user, the task: who acts",
    r"\bin good order\b": "normally",
    r"\btold apart\b": "distinguished",
    r"\bbe it\b": "whether",
    r"\bfor want of\b": "without, because of a lack of",
    r"\bto be had\b": "available",
    r"\b(the|an|its|this) answers? (is|are|of|from|to|that|which|has|comes|was|whose)\b": "response",
    r"\bbehind the back\b": "without the knowledge of, directly",
}

# Most files use none of them, which one search over the whole text shows, and most lines of the others.
_ANY: Final = re.compile(rf"\b(?:{'|'.join(REPLACED)})")
_READ: Final = (
    tokenize.NAME,
    tokenize.COMMENT,
    tokenize.STRING,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),  # from Python 3.12 on
)

_BOOKS: Final = "the books of the examples are on one"
_TEXT: Final = "text that is sent, of which nothing is meant"
_GREETED: Final = "the Hello of the example greets it"

# Where such a word is right, by file or folder, and why.
PERMITTED: Final = {
    ("examples", _SHELF): _BOOKS,
    ("benchmarks", _SHELF): _BOOKS,
    ("tests", _SHELF): _BOOKS,
    ("docs", _SHELF): _BOOKS,
    ("docs/start/tutorial.md", _WORLD): "hello, world",
    ("examples/hello/README.md", _WORLD): "hello, world",
    ("docs/workloads.md", _MIRROR): "the mirroring of Endpoints, as Kubernetes calls it",
    ("runtime/kubeproto_runtime/writing/_draining.py", _MIRROR): "mirror pods, as Kubernetes calls them",
    ("tests/runtime/test_draining.py", _MIRROR): "mirror pods, as Kubernetes calls them",
    ("kubeproto/sim/_fixtures.py", _SHELF): _BOOKS,
    ("CHANGELOG.md", _MIRROR): "mirror pods, as Kubernetes calls them",
    ("DESIGN.md", _SHELF): "the books of the examples, in the entry on this test",
    ("DESIGN.md", _WORLD): "named in the entry on this test",
    ("runtime/kubeproto_runtime/controllers/_finalizer.py", _SHELF): _BOOKS,
    ("kubeproto/sim/admission/_calls.py", _WORLD): "the body of a webhook that does not answer with a review",
    ("tests/admission/", _WORLD): _TEXT,
    ("tests/examples/", _WORLD): _GREETED,
    ("tests/programs/", _WORLD): _GREETED,
    ("tests/transports/contract/contract_scripts.py", _WORLD): _TEXT,
    ("tests/transports/h11/test_sessions.py", _WORLD): _TEXT,
    ("tests/sim/test_faults.py", _AGAIN): "a server's own text",
    ("tests/wire/test_outcomes.py", _AGAIN): "a server's own text",
    ("tests/workloads/test_workload_parts.py", _FLOOR): "math.floor",
    ("kubeproto/sim/_refusals.py", _AGAIN): "a server's own text",
    ("kubeproto/sim/faults/_faults.py", _AGAIN): "a server's own text",
}


def files() -> Iterator[Path]:
    """Every module and page but the two tables of the words."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md") and path.name not in ("vocabulary.md", "test_words.py"):
                yield path
    yield from (ROOT / page for page in PAGES)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The names, comments and strings of a module, or the lines of a page, as words in lower case."""
    text = path.read_text()
    if path.suffix == ".py":
        found = [
            (number, line)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in _READ
            for number, line in enumerate(token.string.splitlines(), token.start[0])
        ]
    else:
        found = list(enumerate(text.splitlines(), 1))
    for number, line in found:
        yield number, words(line)


def words(text: str) -> str:
    return re.sub(r"[_\W]+|(?<=[a-z])(?=[A-Z])", " ", text).lower()


@cache
def uses() -> tuple[tuple[str, int, str], ...]:
    """Each place where a replaced word stands, with its pattern."""
    return tuple(
        (path.relative_to(ROOT).as_posix(), number, word)
        for path in files()
        if _ANY.search(words(path.read_text()))
        for number, line in lines(path)
        if _ANY.search(line)
        for word in REPLACED
        if re.search(word, line)
    )


def permission(name: str, word: str) -> tuple[str, str] | None:
    return next((one for one in PERMITTED if name.startswith(one[0]) and one[1] == word), None)


def test_no_word_that_the_vocabulary_replaces_is_used() -> None:
    assert [
        f"{name}:{number}: {word}: say {REPLACED[word]}"
        for name, number, word in uses()
        if permission(name, word) is None
    ] == []


def test_each_permitted_place_is_still_needed() -> None:
    assert PERMITTED.keys() - {permission(name, word) for name, _, word in uses()} == set()


def test_a_name_a_comment_and_a_message_are_looked_at(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('old_world = 1  # a husk\nraise ValueError("tried again")\nclass KeyDice: ...\n')
    seen = {word for _, line in lines(module) for word in REPLACED if re.search(word, line)}
    assert {REPLACED[word] for word in seen} == {
        "snapshot, server state", "stale entry", "retry", "rng, randomness"
    }  # fmt: skip
