"""A server with a single object, which it returns and patches as the RFCs define."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

import kubeproto as kp
from kubeproto.objects import apply_json_patch, apply_merge_patch, is_object
from kubeproto_runtime import BlockingClient


class _Answer:
    def __init__(self, status: int, document: Any) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self._body = json.dumps(document).encode()

    def __iter__(self) -> Iterator[bytes]:
        yield self._body


class PatchedObject:
    """A transport to a server with a single object, which records the patches."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.patches: list[Any] = []

    @contextmanager
    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[_Answer]:
        if request.method == "PATCH":
            self.patches.append(json.loads(request.body))
            self.document = self._patched(dict(request.headers)["Content-Type"], self.patches[-1])
            version = int(self.document["metadata"]["resourceVersion"])
            self.document["metadata"]["resourceVersion"] = str(version + 1)
        yield _Answer(200, self.document)

    def _patched(self, form: str, patch: Any) -> dict[str, Any]:
        document: dict[str, Any]
        if form == "application/json-patch+json":
            document = apply_json_patch(self.document, patch)
        else:
            document = apply_merge_patch(self.document, _without_nulls_in_lists(patch))
        assert document["metadata"]["resourceVersion"] == self.document["metadata"]["resourceVersion"]
        return document

    def client(self) -> BlockingClient:
        return BlockingClient(self)


def _without_nulls_in_lists(value: Any, inside: bool = False) -> Any:
    """Return a merge patch as a Kubernetes API server interprets it."""
    if is_object(value):
        return {
            key: _without_nulls_in_lists(member, inside)
            for key, member in value.items()
            if not (inside and member is None)
        }
    if isinstance(value, list):
        return [_without_nulls_in_lists(element, True) for element in cast("Any", value)]
    return value
