"""Random questions about values, for kubeproto and for Go's libraries.

`tests/realserver/gofacts` is the Go program that answers them; `go_facts.json` contains its answers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kubeproto.crd import validate
from kubeproto.crd._go_urls import parse_url
from kubeproto.crd.cel._semantic_versions import canonical_version, compare_versions
from kubeproto.objects import FieldSelector, PatchError, apply_json_patch
from kubeproto.yaml import YamlError, read_documents

FACTS: Final = Path(__file__).parent / "go_facts.json"
REFUSED: Final = "refused"

Question = dict[str, Any]


def questions(seed: int, count: int) -> list[Question]:
    """Return a number of questions of each kind, the same for the same seed."""
    rng = random.Random(seed)
    return [
        make(rng)
        for make in (_patch, _scalar, _key, _selector, _duration, _url, _versions)
        for _ in range(count)
    ]


def answer(question: Question) -> Any:
    """Return kubeproto's answer: a value, or `REFUSED`."""
    return _ANSWERS[question["What"]](question)


def answer_of_go(answered: dict[str, Any]) -> Any:
    """Return Go's answer in the same form."""
    return REFUSED if answered.get("error") else answered["value"]


def recorded() -> Iterator[tuple[Question, Any]]:
    """Return the recorded questions with Go's answers."""
    for line in FACTS.read_text().splitlines():
        question, go_value = json.loads(line)
        yield question, go_value


# JSON patches

_DOCUMENT: Final[dict[str, Any]] = {
    "a": {"b": [1, 2, 3], "": 0, "n": None},
    "l": [[], {"x": 1}, None],
    "s": "t",
    "~": {"/": 1},
}
_PARTS: Final = (
    "a", "b", "l", "s", "n", "x", "", "0", "1", "2", "3", "01", "00", "-1", "-2", "-4", "+1", "-0", "-",
    "1_0", "~0", "~1", "~01", "~2", " 1", "99999999999999999999",
)  # fmt: skip
_VALUES: Final[tuple[Any, ...]] = (
    1,
    1.0,
    1.5,
    None,
    "t",
    True,
    {},
    [],
    {"x": 1},
    {"x": 1.0},
    [1, 2, 3],
    {"b": None},
    [[1]],
)


def _pointer(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return rng.choice(("", "/", "a", "a/b", "x/a/b", "//", "/a//b"))
    likely = rng.choice(("/a/b/", "/l/", "/l/1/", "/a/", "/~0/", "/", "/l/0/", "/s/", "/a/n/", "/l/2/"))
    return likely + rng.choice(_PARTS)


def _patch(rng: random.Random) -> Question:
    operations: list[dict[str, Any]] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        operation: dict[str, Any] = {"op": rng.choice(("add", "remove", "replace", "move", "copy", "test"))}
        operation["path"] = _pointer(rng)
        if operation["op"] in ("move", "copy"):
            operation["from"] = _pointer(rng)
        elif operation["op"] != "remove" and rng.random() < 0.95:
            operation["value"] = rng.choice(_VALUES)
        operations.append(operation)
    return {"What": "json-patch", "Doc": _DOCUMENT, "Patch": operations}


def _patched(question: Question) -> Any:
    try:
        return apply_json_patch(question["Doc"], question["Patch"], like_server=True)
    except PatchError:
        return REFUSED


# YAML

_SCALARS: Final = (
    "08", "1e1", "3.0", "1e400", "-0.0", "0o17", "0x1F", "0b11", "9223372036854775808", "1e21", "yes", "~",
    "null", ".inf", ".nan", "2026-01-01", "12:30:45", "16777217.0", "!!float 3",
    "!!int 08", "!!str 1", "0.1", "n",
    "Off",
)  # fmt: skip


def _number(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(_SCALARS)
    return "".join(rng.choice("0123456789..__eE+-xXoObBaF") for _ in range(rng.randint(1, 7)))


def _scalar(rng: random.Random) -> Question:
    return {"What": "yaml", "Text": f"a: {_number(rng)}"}


def _key(rng: random.Random) -> Question:
    return {"What": "yaml", "Text": f"{_number(rng)}: a"}


def _read(question: Question) -> Any:
    try:
        value = next(iter(read_documents(question["Text"]))).value
    except YamlError:
        return REFUSED
    return _in_json(msgspec.json.encode(value))


def _in_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; 1e21 and 1e+21 are equal, and numbers beyond 64 bits are floating."""
    return json.loads(text, parse_int=lambda digits: n if abs(n := int(digits)) < 1 << 63 else float(n))


# field selectors


def _selector(rng: random.Random) -> Question:
    pieces = ("a", "metadata.name", "=", "==", "!=", "!", ",", "\\", "\\,", "\\=", " ", "b", "ü", "\n")
    return {"What": "field-selector", "Text": "".join(rng.choice(pieces) for _ in range(rng.randint(0, 7)))}


def _selected(question: Question) -> Any:
    try:
        selector = FieldSelector.parse(question["Text"])
    except ValueError:
        return REFUSED
    assert FieldSelector.parse(str(selector)) == selector, question
    return sorted(
        {(requirement.path, requirement.operator, requirement.value) for requirement in selector.requirements}
    )


# formats


def _duration(rng: random.Random) -> Question:
    pieces = (
        "P",
        "T",
        "1",
        "12",
        ".",
        "5",
        " ",
        "-",
        "+",
        "D",
        "d",
        "days",
        "H",
        "M",
        "S",
        "s",
        "ms",
        "us",
        "µs",
    )
    more = ("weeks", "w", "wk", "hr", "nanos", "y", "99999999999999999999", "", "microsecond", "mi")
    text = "".join(rng.choice(pieces + more) for _ in range(rng.randint(0, 5)))
    return {"What": "format", "Name": "duration", "Text": text}


def _fits(question: Question) -> Any:
    return not validate({"type": "string", "format": question["Name"]}, question["Text"])


# URLs and semantic versions, as CEL rules read them

_URL_PIECES: Final = (
    "http", "https", "HTTP", "ftp", ":", "://", "/", "//", "@", "a", "b.c", "[::1]", "[", "]", ":80", ":x",
    "?", "#", "%20", "%zz", "%", "%25", " ", "+", "&", "=", ";", "ä", "\t", "<", '"', "..", "*", "10.0.0.1",
    "fe80::1%25eth0",
    "user:pass", "!", "(", "$", ",", "|", "^", "%41", "%e4", "%C3%A4", "1a", "-",
)  # fmt: skip


def _url(rng: random.Random) -> Question:
    start = rng.choice(("", "/", "http://", "https://a", "//", "x:", "http://[", "/a", "https://u@"))
    return {"What": "url", "Text": start + "".join(rng.choice(_URL_PIECES) for _ in range(rng.randint(0, 6)))}


def _read_url(question: Question) -> Any:
    try:
        url = parse_url(question["Text"])
    except ValueError:
        return REFUSED
    return [url.scheme, url.host, url.hostname, url.port, url.path, url.parameters]


def _version(rng: random.Random) -> str:
    numbers = ".".join(
        rng.choice(("0", "1", "2", "10", "01", "")) for _ in range(rng.choice((3, 3, 3, 3, 2, 4)))
    )
    parts = ("a", "b", "1", "2", "01", "0", "rc-1", "10a", "", "-", "ä", "18446744073709551616")
    more = "".join(
        sign + ".".join(rng.choice(parts) for _ in range(rng.randint(1, 3)))
        for sign in rng.choice(("", "-", "-", "+", "-+"))
    )
    return numbers + more


def _versions(rng: random.Random) -> Question:
    return {"What": "semver", "Text": _version(rng), "Name": _version(rng)}


def _ordered(question: Question) -> Any:
    try:
        return compare_versions(canonical_version(question["Text"]), canonical_version(question["Name"]))
    except ValueError:
        return REFUSED


_ANSWERS: Final[dict[str, Callable[[Question], Any]]] = {
    "json-patch": _patched,
    "yaml": _read,
    "field-selector": _selected,
    "format": _fits,
    "url": _read_url,
    "semver": _ordered,
}


def comparable(question: Question, go_value: Any) -> Any:
    """Return Go's answer in the form of kubeproto's."""
    if go_value == REFUSED:
        return go_value
    if question["What"] == "yaml":
        return _in_json(go_value)
    if question["What"] == "field-selector":
        return sorted({(path, operator.replace("==", "="), value) for path, operator, value in go_value})
    return go_value
