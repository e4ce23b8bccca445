"""Manifests: files of YAML or JSON with many objects, read into the classes that are known for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import msgspec

from .._errors import InvalidObject, LocalProtocolError
from ._base import KubeObject
from ._codec import decode, encode
from ._depths import Dynamic
from ._json_values import is_object
from ._resource import GroupVersionKind
from ._unknown_fields import unknown_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

K = TypeVar("K", bound=KubeObject)

# The keys that a reader looks for first; other keys follow.
_LEADING_KEYS: Final = ("apiVersion", "kind", "metadata")


class InvalidManifest(LocalProtocolError, ValueError):
    """A manifest that cannot be read. `document` and `line` count from 1."""

    def __init__(self, message: str, *, document: int, line: int) -> None:
        super().__init__(f"document {document}, line {line}: {message}")
        self.document = document
        self.line = line


class _Document:
    """A document of a JSON text. Only its first line is known."""

    def __init__(self, value: Any, line: int) -> None:
        self.value = value
        self._line = line

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        return self._line


@overload
def parse_manifest(text: str | bytes, *, strict: bool = False) -> list[Dynamic]: ...
@overload
def parse_manifest(text: str | bytes, kinds: type[K], *, strict: bool = False) -> list[K | Dynamic]: ...
@overload
def parse_manifest(
    text: str | bytes, kinds: Iterable[type[KubeObject]], *, strict: bool = False
) -> list[KubeObject]: ...


def parse_manifest(
    text: str | bytes, kinds: type[KubeObject] | Iterable[type[KubeObject]] = (), *, strict: bool = False
) -> list[Any]:
    """Return the objects of a text, each as the matching class of `kinds`, else as `Dynamic`.

    Lists are split into their items, and empty documents are skipped. YAML needs PyYAML; JSON does not. A
    mistake is an `InvalidManifest` that names the document and the line.

    Fields that an object's class lacks (`lables:`) are kept and sent, so that a server can warn about them
    or, with `field_validation="Strict"`, refuse them. With `strict` they are an error here; only the metadata
    of a `Dynamic` is checked.
    """
    listed = (kinds,) if isinstance(kinds, type) else kinds
    classes = {kind.resource.gvk: kind for kind in listed}
    objects: list[KubeObject] = []
    for number, document in enumerate(_split_documents(text), start=1):
        if document.value is not None:
            objects += _parse_objects(document, number, classes, strict)
    return objects


def dump_yaml(objects: KubeObject | Iterable[KubeObject]) -> str:
    """Return objects as YAML, a document each, in a stable order, with exactly the fields that are sent."""
    listed = [objects] if isinstance(objects, KubeObject) else objects
    from ..yaml import write_documents

    return write_documents([_in_order(msgspec.json.decode(encode(obj))) for obj in listed])


def _in_order(value: dict[str, Any]) -> dict[str, Any]:
    first = {key: value[key] for key in _LEADING_KEYS if key in value}
    return first | value


def _split_documents(text: str | bytes) -> Iterator[Any]:
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidManifest("this is not UTF-8", document=1, line=line) from None
    number = 0
    from ..yaml import YamlError, read_documents

    read = _json_documents if decoded.lstrip()[:1] in ("{", "[") else read_documents
    try:
        for document in read(decoded):
            number += 1
            yield document
    except YamlError as error:
        raise InvalidManifest(str(error), document=number + 1, line=error.line) from None


def _json_documents(text: str) -> Iterator[_Document]:
    """Yield the values of a JSON text in their order, as kubectl does."""
    import json

    from ..yaml import YamlError

    decoder = json.JSONDecoder(object_pairs_hook=_unique_members, parse_constant=_refuse_constant)
    non_blank = re.compile(r"\S")
    line, offset = 1, 0
    while match := non_blank.search(text, offset):
        position = match.start()
        line += text.count("\n", offset, position)
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise YamlError(error.msg, error.lineno) from None
        except ValueError as error:
            raise YamlError(str(error), line) from None
        except RecursionError:
            raise YamlError("values are nested too deep", line) from None
        yield _Document(value, line)
        line += text.count("\n", position, end)
        offset = end


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid JSON number")


def _parse_objects(
    document: Any, number: int, classes: dict[GroupVersionKind, type[KubeObject]], strict: bool
) -> Iterator[KubeObject]:
    for path, value in _flatten_lists(document.value, (), classes):
        gvk = _parse_identity(document, number, path, value)
        kind = classes.get(gvk, Dynamic)
        unknown = next(unknown_fields(kind, value), None) if strict else None
        if unknown is not None:
            line = document.line_of((*path, *unknown))
            raise InvalidManifest(_unknown_field_message(gvk.kind, unknown), document=number, line=line)
        try:
            yield decode(msgspec.json.encode(value), kind, strict=True)
        except (InvalidObject, TypeError, OverflowError, ValueError) as error:
            line = document.line_of((*path, *_path_in(str(error))))
            raise InvalidManifest(str(error), document=number, line=line) from None


def _unknown_field_message(kind: str, path: Sequence[str | int]) -> str:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return f"{kind} has no field {field}: correct its name, or read the manifest without strict=True"


def _flatten_lists(
    value: Any, path: tuple[str | int, ...], classes: dict[GroupVersionKind, type[KubeObject]]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the objects in a value: itself, or the items of a list, which may leave out their kind."""
    if not _is_list(value, classes):
        yield path, value
        return
    kind: str = _item_kind(value["kind"], classes)
    for index, item in enumerate(value["items"]):
        if kind and is_object(item):
            item = {"apiVersion": value.get("apiVersion"), "kind": kind} | item
        yield from _flatten_lists(item, (*path, "items", index), classes)


def _item_kind(list_kind: str, classes: dict[GroupVersionKind, type[KubeObject]]) -> str:
    for gvk, cls in classes.items():
        if cls.definition is not None and cls.definition.list_kind == list_kind:
            return gvk.kind
    return list_kind.removesuffix("List")


def _is_list(value: Any, classes: dict[GroupVersionKind, type[KubeObject]]) -> bool:
    """Return whether a value is a list in the sense of kubectl: an object of any kind with items."""
    if not is_object(value) or not isinstance(value.get("items"), list):
        return False
    kind: Any = value.get("kind")
    if not isinstance(kind, str) or not kind:
        return False
    return kind.endswith("List") or all(gvk.kind != kind for gvk in classes)


def _parse_identity(document: Any, number: int, path: tuple[str | int, ...], value: Any) -> GroupVersionKind:
    problem = "an object of the API has an apiVersion and a kind"
    line = document.line_of(path)
    if not is_object(value):
        raise InvalidManifest(f"{problem}; this is a {type(value).__name__}", document=number, line=line)
    for key in ("apiVersion", "kind"):
        content: Any = value.get(key)
        if not isinstance(content, str) or not content:
            line = document.line_of((*path, key))
            raise InvalidManifest(f"{problem}; its {key} is {content!r}", document=number, line=line)
    try:
        return GroupVersionKind.of(value["apiVersion"], value["kind"])
    except ValueError as error:
        raise InvalidManifest(str(error), document=number, line=line) from None


def _path_in(message: str) -> Iterator[str | int]:
    """Return the path of a mistake that msgspec names (``$.spec.items[0]``), up to where it exists."""
    _, marker, path = message.rpartition("`$.")
    if not marker:
        return
    for step in path.partition("`")[0].replace("[", ".[").split("."):
        if not step.startswith("["):
            yield step
        elif step[1:-1].isdigit():
            yield int(step[1:-1])
        else:
            return
