"""The views of an object: complete, its metadata only, or a row of a Table."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from ..kinds._served_kinds import ServedKind
from ..kinds._typed_codec import go_escaped, struct_of
from ..storage._json_values import member
from ._columns import cells_of, definitions_of
from ._negotiation import View

_META: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'
_TABLE: Final = b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%s"},'
_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_POD_CONDITIONS: Final = {
    "Succeeded": b'"conditions":[{"type":"Completed","status":"True","reason":"Succeeded",'
    b'"message":"The pod has completed successfully."}],',
    "Failed": b'"conditions":[{"type":"Completed","status":"True","reason":"Failed",'
    b'"message":"The pod failed."}],',
}
END_MARK: Final = "k8s.io/initial-events-end"


@cache
def _metadata_decoder() -> msgspec.json.Decoder[Any]:
    meta: Any = struct_of("meta_v1.ObjectMeta")
    return msgspec.json.Decoder(msgspec.defstruct("ObjectWithMetadata", [("metadata", meta)]))


class Viewer:
    """Encodes the objects of a kind in a view. `first` is whether a Table still has to send its columns."""

    def __init__(self, served: ServedKind, view: View, include: str = "") -> None:
        self.served = served
        self.view: View = view
        self.include = include or "Metadata"
        self.first = True

    def item(self, data: bytes) -> bytes:
        """Return an object inside a list; built-in kinds omit kind and apiVersion there."""
        data = self.object(data)
        if self.view == "object" and (prefix := self.served.prefix) and data.startswith(prefix):
            return b"{" + data[len(prefix) :]
        return data

    def object(self, data: bytes) -> bytes:
        """Return an object that is a complete response body or event."""
        if self.served.converts:
            data = self.served.encode_response(data)  # a conversion may change labels and annotations
            return partial(data) if self.view == "metadata" else data
        return partial(data) if self.view == "metadata" else self.served.encode_response(data)

    def row(self, data: bytes, time: float) -> bytes:
        """Return an object as a row of a Table."""
        obj = self.served.read(data)
        cells = _encode(cells_of(self.served, obj, time))
        match self.include:
            case "None":
                row_object = b"null"
            case "Object":
                row_object = self.served.encode_response(data)
            case _:
                row_object = partial(self.served.encode_response(data) if self.served.converts else data)
        conditions = _POD_CONDITIONS.get(_phase_of(obj), b"") if self.served.full_name == "pods" else b""
        return b'{"cells":%s,%s"object":%s}' % (go_escaped(cells), conditions, row_object)

    def columns(self) -> bytes:
        """Return the definitions of the columns, the first time; null after that."""
        if not self.first:
            return b"null"
        self.first = False
        return go_escaped(_encode_plain(definitions_of(self.served)))

    def watched(self, data: bytes, version: int, time: float) -> bytes:
        """Return an object as it appears in an event."""
        if self.view != "table":
            return self.object(data)
        columns = self.columns()
        return _TABLE % b"%d" % version + b'"columnDefinitions":%s,"rows":[%s]}' % (
            columns,
            self.row(data, time),
        )

    def bookmark(self, version: str, annotations: dict[str, str], *, old: bool) -> bytes:
        """Return the object of a bookmark: a version, and the annotation at the end of the initial events."""
        meta: dict[str, Any] = {"resourceVersion": version} if version else {}
        if old:
            meta["creationTimestamp"] = None
        if annotations:
            meta["annotations"] = annotations
        if self.view == "metadata":
            return _META + _encode_plain(meta) + b"}"
        if self.view == "table":
            return self._table_bookmark(version, meta, annotations)
        if self.served.custom:
            return msgspec.json.Encoder(order="sorted").encode(
                {"apiVersion": self.served.api_version, "kind": self.served.kind, "metadata": meta}
            )
        zero = self.served.write({"kind": self.served.kind, "apiVersion": self.served.api_version})
        return zero.replace(b'"metadata":{}', b'"metadata":' + _encode_plain(meta), 1)

    def _table_bookmark(self, version: str, meta: dict[str, Any], annotations: dict[str, str]) -> bytes:
        cells = cells_of(self.served, {"metadata": {}, "spec": {}}, 0.0)
        # The object of the row is sent even with `includeObject=None`: nothing else can carry the annotation.
        row_object = _META + _encode_plain(meta) + b"}" if annotations or self.include != "None" else b"null"
        row = b'{"cells":%s,"object":%s}' % (go_escaped(_encode(cells)), row_object)
        return _TABLE % version.encode() + b'"columnDefinitions":null,"rows":[%s]}' % row


def partial(data: bytes) -> bytes:
    """Return the metadata of an object as a PartialObjectMetadata."""
    return _META + go_escaped(_encode(_metadata_decoder().decode(data).metadata)) + b"}"


def _encode_plain(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _phase_of(pod: dict[str, Any]) -> str:
    return str(member(pod, "status").get("phase", ""))
