"""`ManagedCertificates`: the leader creates and renews a certificate, and every process serves it.

::

    leader ── decide, write ──► Secret ── follow ──► every process: TLS context of new connections
         └── bundle ──► webhook configurations and definitions, which the API server reads

`kubeproto.control.certificates` makes the decisions; this module performs them.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from base64 import b64decode, b64encode
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import anyio

from kubeproto import Added, Conflict, Dynamic, Modified, NotFound, ObjectMeta
from kubeproto.control import certificates as c

from .._access import RequiredAccess
from ..calls._outcome_errors import OUTCOMES
from ._certificate_files import server_context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.abc import TaskStatus

    from kubeproto import KubeObject, Resource
    from kubeproto.kinds.core_v1 import Secret

    from ..client._client import Client
    from ..client._verbs import BoundApi
    from ._webhook_configurations import WebhookAddress

_log: Final = logging.getLogger("kubeproto.webhooks")

# Seconds between two checks of the configurations, which are also checked after each of their changes.
_CHECK_INTERVAL: Final = 600.0
_RETRY_DELAY: Final = 15.0

_LIFETIMES: Final = c.Lifetimes()


class ManagedCertificates:
    """A certificate that the leader creates, in the Secret `secret` of the namespace of `address`.

    `configurations` are the webhook configurations and definitions that register the webhooks. The bundle of
    authorities is written to the objects with these names on the server whenever they are created or changed.
    The leader needs permissions to get, create and update the Secret, and to get, list, watch and patch the
    configurations. Every process needs permissions to list and watch the Secret. The extra `webhooks` of this
    package installs `cryptography`, which is required.
    """

    def __init__(
        self,
        client: Client,
        address: WebhookAddress,
        *,
        secret: str,
        configurations: Iterable[KubeObject],
        lifetimes: c.Lifetimes = _LIFETIMES,
    ) -> None:
        if find_spec("cryptography") is None:  # raised here, and not only by the leader
            raise ImportError("ManagedCertificates needs cryptography: pip install kubeproto[webhooks]")
        self._client = client
        self._secret = secret
        self._namespace = address.namespace or client.namespace
        self._hosts = frozenset(address.hosts)
        self._targets = tuple((obj.resource, obj.metadata.name) for obj in configurations)
        self._lifetimes = lifetimes
        self._context: ssl.SSLContext | None = None
        self._changed = anyio.Event()
        self._missing: set[tuple[Resource, str]] = set()  # missing configurations that were logged
        self._published: dict[
            str, float
        ] = {}  # the time since which an authority is in all bundles, by its id

    def __repr__(self) -> str:
        return f"ManagedCertificates(Secret {self._namespace}/{self._secret})"

    @property
    def required_access(self) -> frozenset[RequiredAccess]:
        """The permissions that the account of these processes needs."""
        required = {RequiredAccess("", "secrets", "create", "own")}
        for verb in ("get", "list", "watch", "update"):
            required.add(RequiredAccess("", "secrets", verb, "own", self._secret))
        for resource, name in self._targets:
            for verb in ("get", "list", "watch", "patch"):
                required.add(RequiredAccess(resource.group, resource.plural, verb, "cluster", name))
        return frozenset(required)

    @property
    def hosts(self) -> frozenset[str]:
        """The names for which the certificate is valid."""
        return self._hosts

    @property
    def targets(self) -> tuple[tuple[Resource, str], ...]:
        """The resource and the name of each webhook configuration and definition that gets the bundle."""
        return self._targets

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for the next connection."""
        if self._context is None:
            raise ssl.SSLError(f"there is no certificate in the Secret {self._namespace}/{self._secret} yet")
        return self._context

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the Secret until cancelled. Report the start once it has a valid certificate."""
        from kubeproto.kinds.core_v1 import Secret

        secrets = self._client.api(Secret, namespace=self._namespace)
        async with secrets.follow(field_selector=f"metadata.name={self._secret}") as events:
            async for event in events:
                match event:
                    case Added(secret) | Modified(secret):
                        had_certificate = self._context is not None
                        self._load(secret)
                        if not had_certificate and self._context is not None:
                            task_status.started()
                    case _:
                        pass  # the leader creates a deleted Secret again

    async def renew(self) -> None:
        """Renew the certificate and update the bundles until cancelled. Only the leader calls this."""
        from kubeproto.kinds.core_v1 import Secret

        self._published.clear()  # another process may have led since the last call
        async with anyio.create_task_group() as watchers:
            secrets = self._client.api(Secret, namespace=self._namespace)
            watchers.start_soon(self._wake_on_changes, secrets, self._secret)
            for resource, name in self._targets:
                configurations = self._client.api(Dynamic, resource=resource)
                watchers.start_soon(self._wake_on_changes, configurations, name)
            while True:
                self._changed = anyio.Event()
                try:
                    pause = await self._step()
                except Conflict:
                    pause = 0.0  # another process has written the Secret, which is read again
                except OUTCOMES as error:
                    _log.warning("the certificate of the webhooks could not be checked: %s", error)
                    pause = _RETRY_DELAY
                with anyio.move_on_after(pause):
                    await self._changed.wait()

    async def _wake_on_changes(self, api: BoundApi[Any], name: str) -> None:
        async with api.follow(field_selector=f"metadata.name={name}") as events:
            async for _ in events:
                self._changed.set()

    async def _step(self) -> float:
        """Take a step, and return the pause before the next step."""
        from ._issued_certificates import BUNDLE, apply_decision, read_chain

        secret = await self._read()
        data = None if secret is None else secret.data
        chain = read_chain(data)
        now, max_pause = self._client.wall_clock().timestamp(), _CHECK_INTERVAL
        if chain is not None and data is not None and not await self._publish(data[BUNDLE], now):
            max_pause = _RETRY_DELAY
        decision = c.decide(chain, self._hosts, self._published, now, self._lifetimes)
        if isinstance(decision, c.Wait):
            return max(1.0, min(decision.until - now, max_pause))
        _log.info("the certificate of the webhooks: %s", type(decision).__name__)
        new_data = apply_decision(decision, data, self._hosts, now, self._lifetimes)
        await self._write(secret, new_data)
        return 0.0

    async def _read(self) -> Secret | None:
        from kubeproto.kinds.core_v1 import Secret

        try:
            return await self._client.api(Secret, namespace=self._namespace).get(self._secret)
        except NotFound:
            return None

    async def _write(self, secret: Secret | None, data: dict[str, bytes]) -> None:
        from kubeproto.kinds.core_v1 import Secret

        secrets = self._client.api(Secret, namespace=self._namespace)
        if secret is None:
            meta = ObjectMeta(name=self._secret, namespace=self._namespace)
            await secrets.create(Secret(metadata=meta, type="kubernetes.io/tls", data=data))
        else:
            secret.data = data
            await secrets.replace(secret)

    def _load(self, secret: Secret) -> None:
        from ._issued_certificates import CERTIFICATE, KEY, read_chain

        if secret.data is None or read_chain(secret.data) is None:
            _log.warning("the Secret %s/%s has no valid certificate", self._namespace, self._secret)
            return
        self._context = _context_of(secret.data[CERTIFICATE] + secret.data[KEY])

    async def _publish(self, bundle: bytes, now: float) -> bool:
        """Write the bundle to all configurations, and record the authorities that are in all bundles.

        Return whether all writes succeeded. If a write failed, the previous authority still issues
        certificates.
        """
        from ._issued_certificates import authority_ids

        published, succeeded = authority_ids(bundle), True
        for resource, name in self._targets:
            try:
                published &= await self._write_bundle(resource, name, bundle)
            except NotFound:
                # A missing configuration gets the bundle when it is created.
                level = logging.DEBUG if (resource, name) in self._missing else logging.WARNING
                _log.log(level, "%s %s, which registers the webhooks, does not exist", resource.kind, name)
                self._missing.add((resource, name))
            except OUTCOMES as error:
                _log.warning(
                    "the bundle of authorities was not written to %s %s: %s", resource.kind, name, error
                )
                published, succeeded = frozenset[str](), False
            else:
                self._missing.discard((resource, name))
        self._published = {identity: self._published.get(identity, now) for identity in published}
        return succeeded

    async def _write_bundle(self, resource: Resource, name: str, bundle: bytes) -> frozenset[str]:
        """Write the bundle to an object, and return the ids of the authorities that it contained before."""
        from ._issued_certificates import authority_ids

        text, api = b64encode(bundle).decode(), self._client.api(Dynamic, resource=resource)
        previous = [config.get("caBundle", "") for config in _client_configs(await api.get(name))]
        if any(encoded != text for encoded in previous):

            def set_bundle(obj: Dynamic) -> None:
                for config in _client_configs(obj):
                    config["caBundle"] = text

            await api.update(name, set_bundle)
        authorities = authority_ids(bundle)
        for encoded in previous:
            authorities &= authority_ids(b64decode(encoded))
        return authorities


def _client_configs(obj: Dynamic) -> list[dict[str, Any]]:
    """Return the client configuration of each webhook of an object."""
    if obj.kind == "CustomResourceDefinition":
        conversion: Any = obj["spec"].get("conversion")
        return [conversion["webhook"]["clientConfig"]] if conversion and "webhook" in conversion else []
    webhooks: list[dict[str, Any]] = obj.get("webhooks") or []
    return [webhook["clientConfig"] for webhook in webhooks]


def _context_of(text: bytes) -> ssl.SSLContext:
    # ssl reads keys only from files. Only its owner can read this file, which is deleted immediately.
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        return server_context(path)
    finally:
        os.unlink(path)
