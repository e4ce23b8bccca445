"""`Webhooks`: the admission and conversion webhooks of one kind, for `WebhookServer` or any ASGI server.

::

    def check(admission: Admission[Book]) -> Violation | None:
        if admission.old and admission.object.spec.isbn != admission.old.spec.isbn:
            return Violation("FieldValueForbidden", "spec.isbn", detail="a book keeps its number")
        return None

    def fill(admission: Admission[Book]) -> None:
        admission.object.spec.pages = admission.object.spec.pages or 1

    webhooks = Webhooks(Book).validate(check).default(fill).convert(BookV1, up=to_v2, down=to_v1)

A handler that raises is a 500, and the server does then what `failure_policy` says.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from kubeproto import KubeObject
from kubeproto.crd import read_admission

from ..tasks._stray_cancellations import failures, is_cancelled
from ._admission import defaulted, validated
from ._asgi import serve_asgi
from ._configurations import (
    WebhookOptions,
    Where,
    configurations_of,
    conversion_of,
    definition_for,
    mutating,
    validating,
)
from ._conversion import Conversions
from ._reviews import UnreadableReview, review_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, MutableMapping

    from kubeproto.crd import CustomResourceDefinition
    from kubeproto.kinds.admissionregistration_v1 import (
        MutatingWebhook,
        MutatingWebhookConfiguration,
        ValidatingWebhook,
        ValidatingWebhookConfiguration,
    )

    from ._admission import Defaulter, Validator

K = TypeVar("K", bound=KubeObject)
S = TypeVar("S", bound=KubeObject)

WRITES: Final = ("CREATE", "UPDATE")
_JSON: Final = (("Content-Type", "application/json"),)
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_log: Final = logging.getLogger("kubeproto.webhooks")

WebhookResponse = tuple[int, tuple[tuple[str, str], ...], bytes]


class Webhooks(Generic[K]):
    """The webhooks of one kind: validation, defaulting and conversion.

    `options` say how the server is to call. It is an ASGI application; several are joined by ``|``. `respond`
    answers one request, on any server.
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
        """Have `check` called for these operations.

        It returns None to allow, violations or one for a 422 with causes, or `kubeproto.crd.deny`.
        """
        self._validators.append((check, operations))
        return self

    def default(self, fill: Defaulter[K], *, operations: tuple[str, ...] = WRITES) -> Self:
        """Have `fill` edit the object of these operations, in place or by returning another.

        What its class does not know stays as it was sent. A server may call twice for one write, so to fill
        an object that is filled already must change nothing.
        """
        self._defaulters.append((fill, operations))
        return self

    def convert(self, version: type[S], *, up: Callable[[S], K], down: Callable[[K], S]) -> Self:
        """Convert to and from another version; `up` makes an object of this class, which is the one stored.

        The metadata is copied; fields that the other version does not have are lost unless they are kept
        in an annotation. ValueError says that an object cannot be converted.
        """
        self.conversions.add(version, up, down)
        return self

    def __or__(self, other: WebhookApplication | Webhooks[Any]) -> WebhookApplication:
        return WebhookApplication(self) | other

    @property
    def paths(self) -> dict[str, Callable[[bytes], Awaitable[bytes]]]:
        """What is answered, by path."""
        resource = self.kind.resource
        where = f"{resource.plural}.{resource.group}"
        found: dict[str, Callable[[bytes], Awaitable[bytes]]] = {}
        if self._validators:
            found[f"/validate/{where}/{resource.version}"] = self._validate
        if self._defaulters:
            found[f"/default/{where}/{resource.version}"] = self._default
        if self.conversions:
            found[f"/convert/{where}"] = self._convert
        return found

    def configurations(
        self, name: str, where: Where
    ) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
        """Return the configurations of these webhooks, which get this `name`."""
        return configurations_of(name, self.entries(where))

    def entries(self, where: Where) -> Iterator[MutatingWebhook | ValidatingWebhook]:
        """Yield an entry of a configuration for each webhook."""
        for path in self.paths:
            if path.startswith("/default/"):
                operations = _operations(self._defaulters)
                yield mutating(self.kind, where, path, self.options, operations)
            elif path.startswith("/validate/"):
                operations = _operations(self._validators)
                yield validating(self.kind, where, path, self.options, operations)

    def manifests(self, name: str, where: Where) -> list[KubeObject]:
        """Return the configurations, and the definition if this converts: all that names the webhooks."""
        return WebhookApplication(self).manifests(name, where)

    def definition(self, where: Where) -> CustomResourceDefinition:
        """Return the definition of the kind in all its versions, and of its conversion webhook."""
        path = next((path for path in self.paths if path.startswith("/convert/")), "")
        return definition_for(self.conversions.classes, conversion_of(where, path) if path else None)

    async def respond(self, method: str, target: str, body: bytes) -> WebhookResponse:
        """Return status, headers and body of the response to a request."""
        return await _respond(self.paths, method, target, body)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Serve as an ASGI application."""
        await serve_asgi(self, scope, receive, send)

    async def _validate(self, body: bytes) -> bytes:
        return await validated(review_in(body, read_admission), self.kind, self._validators)

    async def _default(self, body: bytes) -> bytes:
        return await defaulted(review_in(body, read_admission), self.kind, self._defaulters)

    async def _convert(self, body: bytes) -> bytes:
        return self.conversions.answer(body)


class WebhookApplication:
    """The webhooks of several kinds, on one port."""

    def __init__(self, *webhooks: Webhooks[Any]) -> None:
        self.webhooks = webhooks
        self.paths = {path: handle for one in webhooks for path, handle in one.paths.items()}

    def __or__(self, other: WebhookApplication | Webhooks[Any]) -> WebhookApplication:
        more = other.webhooks if isinstance(other, WebhookApplication) else (other,)
        return WebhookApplication(*self.webhooks, *more)

    def configurations(
        self, name: str, where: Where
    ) -> list[MutatingWebhookConfiguration | ValidatingWebhookConfiguration]:
        """Return the configurations of these webhooks: at most one of each type."""
        return configurations_of(name, (entry for one in self.webhooks for entry in one.entries(where)))

    def manifests(self, name: str, where: Where) -> list[KubeObject]:
        """Return the configurations, and the definitions of what is converted: all that names webhooks."""
        definitions = (one.definition(where) for one in self.webhooks if one.conversions)
        return [*definitions, *self.configurations(name, where)]

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
    except UnreadableReview as error:
        return 400, _TEXT, f"{error}\n".encode()
    except failures():
        if is_cancelled():
            raise
        # Not to the client: the error may contain what the client must not see.
        _log.exception("%s: a handler has failed", path)
        return 500, _TEXT, b"a handler of this webhook has failed; its log says why\n"


def _operations(handlers: list[tuple[Any, tuple[str, ...]]]) -> list[str]:
    return list(dict.fromkeys(operation for _, operations in handlers for operation in operations))
