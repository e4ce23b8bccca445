"""Reads field numbers and types from `generated.proto`, and JSON properties from the Go structs beside it.

A proto file lacks the JSON name of a field, whether its members are part of the outer object
(``json:",inline"``), and whether a sent zero has a meaning (a pointer). The Go struct tags contain all three.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

_MESSAGE: Final = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^\s*(?:(optional|repeated)\s+)?(map<\w+,\s*[\w.]+>|[\w.]+)\s+(\w+)\s*=\s*(\d+)", re.MULTILINE
)
_PACKAGE: Final = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGGED_FIELD: Final = re.compile(r"^\s*(?:\w+\s+)?([*\w.\[\]{}]+)\s+`([^`]*)`", re.MULTILINE)
_JSON: Final = re.compile(r'json:"([^",]*)([^"]*)"')
_PROTOBUF: Final = re.compile(r'protobuf:"\w+,(\d+),')
_COMMENT: Final = re.compile(r"//[^\n]*")
_SCALARS: Final = frozenset(("string", "bool", "bytes", "int32", "int64", "double"))


def read_package(folder: Path) -> Json:
    """Return the messages of a package by full name; a field is ``[number, JSON name, type, flags]``."""
    text = _COMMENT.sub("", (folder / "generated.proto").read_text())
    match = _PACKAGE.search(text)
    if match is None:
        raise ValueError(f"{folder}/generated.proto names no package")
    package = match[1].removeprefix("k8s.io.")
    structs = _structs(folder)
    return {
        f"{package}.{name}": [
            _field(package, structs.get(name, {}), *groups) for groups in _FIELD.findall(body)
        ]
        for name, body in _MESSAGE.findall(text)
    }


def _field(
    package: str, tags: dict[int, tuple[str, bool, bool]], label: str, type_: str, name: str, number: str
) -> list[Any]:
    json_name, inline, pointer = tags.get(int(number), (name, False, False))
    flags = "r" if label == "repeated" else ""
    if type_.startswith("map<"):
        flags, type_ = "m", type_[4:-1].split(",")[1].strip()
    flags += ("i" if inline else "") + ("p" if pointer else "")
    return [int(number), json_name or name, _full(package, type_), flags]


def _full(package: str, type_: str) -> str:
    if type_ in _SCALARS:
        return type_
    return f"{package}.{type_}" if "." not in type_ else type_.removeprefix(".").removeprefix("k8s.io.")


def _structs(folder: Path) -> dict[str, dict[int, tuple[str, bool, bool]]]:
    """Return the fields of each struct by number: JSON name, whether inline, whether a pointer."""
    structs: dict[str, dict[int, tuple[str, bool, bool]]] = {}
    for path in sorted(folder.glob("*.go")):
        if path.name.startswith(("zz_", "generated.")) or path.name.endswith("_test.go"):
            continue
        for name, body in _STRUCT.findall(path.read_text()):
            for type_, tags in _TAGGED_FIELD.findall(_COMMENT.sub("", body)):
                number, json_tag = _PROTOBUF.search(tags), _JSON.search(tags)
                if number and json_tag:
                    inline = "inline" in json_tag[2]
                    structs.setdefault(name, {})[int(number[1])] = json_tag[1], inline, type_.startswith("*")
    return structs
