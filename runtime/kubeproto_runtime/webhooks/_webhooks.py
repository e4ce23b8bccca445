"""`Webhooks`: the admission and conversion webhooks of one kind, for `WebhookServer` or any ASGI server.

::

    def check(admission: Admission[Book]) -> Violation | None:
        if admission.old and admission.object.spec.isbn != admission.old.spec.isbn:
            return Violation("FieldValueForbidden", "spec.isbn", detail="a book keeps its number")
        return None

    def fill(admission: Admission[Book]) -> None:
        admission.object.spec.pages = admission.object.spec.pages or 1

    webhooks = Webhooks(Book).validate(check).default(fill).convert(BookV1, up=to_v2, down=to_v1)

An exception of a handler becomes a 500, and `failure_policy` decides what the server does then.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from kubeproto import KubeObject, RemoteProtocolError
from kubeproto.crd import read_admission, read_conversion, respond_to_conversion

from ..tasks._error_texts import log_failure
from ..tasks._stray_cancellations import failures, is_cancelled
from ._admission_handlers import default_request, validate_request
from ._asgi import serve_asgi
from ._conversion_handlers import Conversions
from ._webhook_configurations import (
    WebhookAddress,
    WebhookOptions,
    configurations_of,
    conversion_of,
    definition_for,
    mutating,
    validating,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, MutableMapping

    from kubeproto.crd import CustomResourceDefinition
    from kubeproto.kinds.admissionregistration_v1 import (
        MutatingWebhook,
        MutatingWebhookConfiguration,
        ValidatingWebhook,
        ValidatingWebhookConfiguration,
    )

    from ._admission_handlers import Defaulter, Validator

K = TypeVar("K", bound=KubeObject)
S = TypeVar("S", bound=KubeObject)
R = TypeVar("R")

WRITES: Final = ("CREATE", "UPDATE")
_JSON: Final = (("Content-Type", "application/json"),)
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_log: Final = logging.getLogger("kubeproto.webhooks")

WebhookResponse = tuple[int, tuple[tuple[str, str], ...], bytes]


class Webhooks(Generic[K]):
    """The webhooks of one kind: validation, defaulting and conversion.

    `options` configure the calls of the server. The object is an ASGI application, and ``|`` joins several;
    `respond` handles a single request, on any server.
    """

    def __init__(self, kind: type[K], *, options: WebhookOptions | None = None) -> None:
        self.kind = kind
        self.options = options or WebhookOptions()
        self.conversions = Conversions(kind)
        self._validators: list[tuple[Validator[K], tuple[str, ...]]] = []
        self._defaulters: list[tuple[Defaulter[K], tuple[str, ...]]] = []

    def __repr__(self) -> str:
        return f"Webhooks({self.kind.__name__}: {', '.join(sorted(self.paths)) or 'none'})"

    def validate(self, check: Validator[K], *, operations: tuple[str, ...] = WRITES) -> Self:
        """Call `check` for these operations.

        It returns None to allow the write, one or several violations for a 422 with causes, or the result of
        `kubeproto.crd.deny`.
        """
        self._validators.append((check, operations))
        return self

    def default(self, fill: Defaulter[K], *, operations: tuple[str, ...] = WRITES) -> Self:
        """Call `fill` for these operations: it edits the object in place, or returns another one.

        Fields that the class does not have are preserved. A server may call twice for a write, so `fill` must
        not change an object that has its defaults.
        """
        self._defaulters.append((fill, operations))
        return self

    def convert(self, version: type[S], *, up: Callable[[S], K], down: Callable[[K], S]) -> Self:
        """Convert to and from another version; `up` returns an object of this class, the stored version.

        The metadata is copied; fields that the other version does not have are lost unless an annotation
        stores them. A function raises ValueError for an object that cannot be converted.
        """
        self.conversions.add(version, up, down)
        return self

    def __or__(self, other: WebhookApplication | Webhooks[Any]) -> WebhookApplication:
        return WebhookApplication(self) | other

    @property
    def paths(self) -> dict[str, Callable[[bytes], Awaitable[bytes]]]:
        """The handlers by path."""
        resource = self.kind.resource
        name = f"{resource.plural}.{resource.group}"
        paths: dict[str, Callable[[bytes], Awaitable[bytes]]] = {}
        if self._validators:
            paths[f"/validate/{name}/{resource.version}"] = self._validate
        if self._defaulters:
            paths[f"/default/{name}/{resource.version}"] = self._default
        if self.conversions:
            paths[f"/convert/{name}"] = self._convert
        return paths

    def configurations(
        self, name: str, address: WebhookAddress
    ) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
        """Return the configurations of these webhooks, with this `name`."""
        return configurations_of(name, self.entries(address))

    def entries(self, address: WebhookAddress) -> Iterator[MutatingWebhook | ValidatingWebhook]:
        """Yield an entry of a configuration for each webhook."""
        for path in self.paths:
            if path.startswith("/default/"):
                operations = _operations(self._defaulters)
                yield mutating(self.kind, address, path, self.options, operations)
            elif path.startswith("/validate/"):
                operations = _operations(self._validators)
                yield validating(self.kind, address, path, self.options, operations)

    def manifests(self, name: str, address: WebhookAddress) -> list[KubeObject]:
        """Return the configurations, and the definition if there are conversions."""
        return WebhookApplication(self).manifests(name, address)

    def definition(self, address: WebhookAddress) -> CustomResourceDefinition:
        """Return the definition of the kind in all its versions, and of its conversion webhook."""
        path = next((path for path in self.paths if path.startswith("/convert/")), "")
        return definition_for(self.conversions.classes, conversion_of(address, path) if path else None)

    async def respond(self, method: str, target: str, body: bytes) -> WebhookResponse:
        """Return status, headers and body of the response to a request."""
        return await _respond(self.paths, method, target, body)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Serve as an ASGI application."""
        await serve_asgi(self, scope, receive, send)

    async def _validate(self, body: bytes) -> bytes:
        return await validate_request(_parse_review(body, read_admission), self.kind, self._validators)

    async def _default(self, body: bytes) -> bytes:
        return await default_request(_parse_review(body, read_admission), self.kind, self._defaulters)

    async def _convert(self, body: bytes) -> bytes:
        return respond_to_conversion(_parse_review(body, read_conversion), self.conversions.convert)


class WebhookApplication:
    """The webhooks of several kinds, on one port."""

    def __init__(self, *webhooks: Webhooks[Any]) -> None:
        self.webhooks = webhooks
        self.paths = {path: handle for group in webhooks for path, handle in group.paths.items()}

    def __or__(self, other: WebhookApplication | Webhooks[Any]) -> WebhookApplication:
        added = other.webhooks if isinstance(other, WebhookApplication) else (other,)
        return WebhookApplication(*self.webhooks, *added)

    def configurations(
        self, name: str, address: WebhookAddress
    ) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
        """Return the configurations of these webhooks: at most one of each type."""
        entries = (entry for webhooks in self.webhooks for entry in webhooks.entries(address))
        return configurations_of(name, entries)

    def manifests(self, name: str, address: WebhookAddress) -> list[KubeObject]:
        """Return the configurations, and the definitions of the kinds with conversions."""
        definitions = (webhooks.definition(address) for webhooks in self.webhooks if webhooks.conversions)
        return [*definitions, *self.configurations(name, address)]

    async def respond(self, method: str, target: str, body: bytes) -> WebhookResponse:
        """Return status, headers and body of the response to a request."""
        return await _respond(self.paths, method, target, body)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Serve as an ASGI application."""
        await serve_asgi(self, scope, receive, send)


async def _respond(
    paths: dict[str, Callable[[bytes], Awaitable[bytes]]], method: str, target: str, body: bytes
) -> WebhookResponse:
    path = target.partition("?")[0]
    if (handle := paths.get(path)) is None:
        return 404, _TEXT, f"there are {', '.join(sorted(paths)) or 'no webhooks'}\n".encode()
    if method != "POST":
        return 405, (*_TEXT, ("Allow", "POST")), b"a review is sent by POST\n"
    try:
        return 200, _JSON, await handle(body)
    except _UnreadableReview as error:
        return 400, _TEXT, f"{error}\n".encode()
    except failures() as error:
        if is_cancelled():
            raise
        # Not for the client, which may not be allowed to see the content of the error.
        log_failure(_log, "%s: a handler has failed", path, error=error)
        return 500, _TEXT, b"a handler of this webhook has failed; the reason is in its log\n"


class _UnreadableReview(Exception):
    """A body that is not a review; the message may be sent to the client."""


def _parse_review(body: bytes, read: Callable[[bytes], R]) -> R:
    """Return the review in a body.

    A handler may raise `RemoteProtocolError` too, for a request of its own. The message of that error must
    not be in the response.
    """
    try:
        return read(body)
    except RemoteProtocolError as error:
        raise _UnreadableReview(str(error)) from error


def _operations(handlers: list[tuple[Any, tuple[str, ...]]]) -> list[str]:
    return list(dict.fromkeys(operation for _, operations in handlers for operation in operations))
