"""`Webhooks`: the admission and conversion webhooks of a kind, for `WebhookServer` or any ASGI server.

::

    def check(admission: Admission[Book]) -> Violation | None:
        if admission.old and admission.object.spec.isbn != admission.old.spec.isbn:
            return Violation("FieldValueForbidden", "spec.isbn", detail="the ISBN cannot change")
        return None

    def set_defaults(admission: Admission[Book]) -> None:
        admission.object.spec.pages = admission.object.spec.pages or 1

    webhooks = Webhooks(Book).validate(check).default(set_defaults).convert(BookV1, up=to_v2, down=to_v1)

If a handler raises, the response is a 500, and `failure_policy` decides whether the write is refused.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from kubeproto import KubeObject, RemoteProtocolError
from kubeproto.crd import read_admission, read_conversion, respond_to_conversion

from ..tasks._error_texts import log_failure
from ..tasks._stray_cancellations import failure_types, is_cancelled
from ._admission_handlers import default_request, validate_request
from ._asgi import serve_asgi
from ._conversion_handlers import Conversions
from ._webhook_configurations import (
    WebhookAddress,
    WebhookOptions,
    configurations_of,
    conversion_of,
    definition_for,
    mutating_webhook,
    validating_webhook,
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
    """The webhooks of a kind: validation, defaulting and conversion.

    `options` configure the calls of the API server. An instance is an ASGI application, and ``|`` joins
    several. `respond` handles a single request, for use in any HTTP server.
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

        `check` returns None to allow the write, a violation or several to refuse it with 422 and causes, or
        the result of `kubeproto.crd.deny`.
        """
        self._validators.append((check, operations))
        return self

    def default(self, fill: Defaulter[K], *, operations: tuple[str, ...] = WRITES) -> Self:
        """Call `fill` for these operations: it changes the object in place, or returns a new object.

        Fields that the class does not have are preserved. The API server may call a webhook twice for a
        write, so `fill` must not change an object that has all defaults.
        """
        self._defaulters.append((fill, operations))
        return self

    def convert(self, version: type[S], *, up: Callable[[S], K], down: Callable[[K], S]) -> Self:
        """Convert to and from another version. `up` returns an object of this class, the storage version.

        The metadata are copied. Fields that the other version does not have are lost, unless an annotation
        stores them. A function raises ValueError if it cannot convert an object.
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
                operations = _operations_of(self._defaulters)
                yield mutating_webhook(self.kind, address, path, self.options, operations)
            elif path.startswith("/validate/"):
                operations = _operations_of(self._validators)
                yield validating_webhook(self.kind, address, path, self.options, operations)

    def manifests(self, name: str, address: WebhookAddress) -> list[KubeObject]:
        """Return the configurations, and the definition if there are conversions."""
        return WebhookApplication(self).manifests(name, address)

    def definition(self, address: WebhookAddress) -> CustomResourceDefinition:
        """Return the definition of the kind with all its versions and its conversion webhook."""
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
    """The webhooks of several kinds, served on one port."""

    def __init__(self, *webhooks: Webhooks[Any]) -> None:
        self.webhooks = webhooks
        self.paths = {path: handle for group in webhooks for path, handle in group.paths.items()}

    def __or__(self, other: WebhookApplication | Webhooks[Any]) -> WebhookApplication:
        added = other.webhooks if isinstance(other, WebhookApplication) else (other,)
        return WebhookApplication(*self.webhooks, *added)

    def configurations(
        self, name: str, address: WebhookAddress
    ) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
        """Return the webhook configurations: at most one for validation and one for defaulting."""
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
        known_paths = ", ".join(sorted(paths)) or "no paths"
        return 404, _TEXT, f"no webhook has the path {path}; the webhooks have {known_paths}\n".encode()
    if method != "POST":
        return 405, (*_TEXT, ("Allow", "POST")), b"send the review by POST\n"
    try:
        return 200, _JSON, await handle(body)
    except _UnreadableReview as error:
        return 400, _TEXT, f"{error}\n".encode()
    except failure_types() as error:
        if is_cancelled():
            raise
        # The error is not sent to the client, who may not have permission to read its content.
        log_failure(_log, "%s: a handler has failed", path, error=error)
        return 500, _TEXT, b"a handler of this webhook has failed; the reason is in its log\n"


class _UnreadableReview(Exception):
    """A body that is not a review; the message may be sent to the client."""


def _parse_review(body: bytes, read: Callable[[bytes], R]) -> R:
    """Return the review in a body.

    Its error is wrapped, because a handler may raise `RemoteProtocolError` for its own requests, and the
    message of such an error must not be in the response.
    """
    try:
        return read(body)
    except RemoteProtocolError as error:
        raise _UnreadableReview(str(error)) from error


def _operations_of(handlers: list[tuple[Any, tuple[str, ...]]]) -> list[str]:
    return list(dict.fromkeys(operation for _, operations in handlers for operation in operations))
