"""`ManagedCertificates`: the leader makes and renews a certificate, and every process shows it.

::

    the leader ── decide, write ──► Secret ── follow ──► every process: the context of new connections
         └── the bundle ──► webhook configurations and definitions, which the API server reads

`kubeproto.control.certificates` decides what to do when; this performs it.
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
from ..calls._outcomes import OUTCOMES
from ._certificate_files import server_context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.abc import TaskStatus

    from kubeproto import KubeObject, Resource
    from kubeproto.kinds.core_v1 import Secret

    from ..client._client import Client
    from ..client._verbs import BoundApi
    from ._configurations import Where

_log: Final = logging.getLogger("kubeproto.webhooks")

# Seconds: between two looks at the configurations, which are followed as well, and after a failure.
_LOOK: Final = 600.0
_RETRY: Final = 15.0

_LIFETIMES: Final = c.Lifetimes()


class ManagedCertificates:
    """A certificate that the leader makes, in the Secret `secret` of the namespace of `where`.

    `configurations` are the webhook configurations and definitions that name the webhooks: the bundle of
    authorities is put into those on the server that have their names, now and whenever they are created or
    changed. The leader has to be allowed to get, create and update the Secret, and to get, list, watch and
    patch the configurations; every process to list and watch the Secret. Needs the extra `webhooks`, which
    brings `cryptography`.
    """

    def __init__(
        self,
        client: Client,
        where: Where,
        *,
        secret: str,
        configurations: Iterable[KubeObject],
        lifetimes: c.Lifetimes = _LIFETIMES,
    ) -> None:
        if find_spec("cryptography") is None:  # found out now, and not when the first certificate is due
            raise ImportError("ManagedCertificates needs cryptography: pip install kubeproto[webhooks]")
        self._client = client
        self._secret = secret
        self._namespace = where.namespace or client.namespace
        self._hosts = frozenset(where.hosts)
        self._targets = tuple((one.resource, one.metadata.name) for one in configurations)
        self._lifetimes = lifetimes
        self._context: ssl.SSLContext | None = None
        self._changed = anyio.Event()
        self._missing: set[tuple[Resource, str]] = set()  # what was said not to exist
        self._published: dict[str, float] = {}  # since when each authority is known to be everywhere

    def __repr__(self) -> str:
        return f"ManagedCertificates(Secret {self._namespace}/{self._secret})"

    @property
    def required_access(self) -> frozenset[RequiredAccess]:
        """What the account of these processes has to be allowed, for `kubeproto_runtime.manifests`."""
        found = {RequiredAccess("", "secrets", "create", "own")}
        for verb in ("get", "list", "watch", "update"):
            found.add(RequiredAccess("", "secrets", verb, "own", self._secret))
        for resource, name in self._targets:
            for verb in ("get", "list", "watch", "patch"):
                found.add(RequiredAccess(resource.group, resource.plural, verb, "cluster", name))
        return frozenset(found)

    @property
    def hosts(self) -> frozenset[str]:
        """The names that the certificate is good for."""
        return self._hosts

    @property
    def targets(self) -> tuple[tuple[Resource, str], ...]:
        """What the authorities are put into: webhook configurations and definitions, by name."""
        return self._targets

    def context(self) -> ssl.SSLContext:
        """Return what the next connection is made with."""
        if self._context is None:
            raise ssl.SSLError(f"there is no certificate in the Secret {self._namespace}/{self._secret} yet")
        return self._context

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the Secret, until cancelled; started once there is a certificate in it."""
        from kubeproto.kinds.core_v1 import Secret

        secrets = self._client.api(Secret, namespace=self._namespace)
        async with secrets.follow(field_selector=f"metadata.name={self._secret}") as events:
            async for event in events:
                match event:
                    case Added(secret) | Modified(secret):
                        before = self._context
                        self._take(secret)
                        if before is None and self._context is not None:
                            task_status.started()
                    case _:
                        pass  # a Secret that was deleted is made again by the leader

    async def renew(self) -> None:
        """Keep the Secret and the bundles current, until cancelled: the work of the leader."""
        from kubeproto.kinds.core_v1 import Secret

        self._published.clear()  # what was there while another process led is unknown
        async with anyio.create_task_group() as following:
            secrets = self._client.api(Secret, namespace=self._namespace)
            following.start_soon(self._wake_on_changes, secrets, self._secret)
            for resource, name in self._targets:
                following.start_soon(
                    self._wake_on_changes, self._client.api(Dynamic, resource=resource), name
                )
            while True:
                self._changed = anyio.Event()
                try:
                    pause = await self._step()
                except Conflict:
                    pause = 0.0  # another process has written it: read it again
                except OUTCOMES as error:
                    _log.warning("the certificate of the webhooks was not looked after: %s", error)
                    pause = _RETRY
                with anyio.move_on_after(pause):
                    await self._changed.wait()

    async def _wake_on_changes(self, api: BoundApi[Any], name: str) -> None:
        async with api.follow(field_selector=f"metadata.name={name}") as events:
            async for _ in events:
                self._changed.set()

    async def _step(self) -> float:
        """Take one step, and return for how long nothing is to be done after it."""
        from ._issuing import BUNDLE, perform, read_chain

        secret = await self._read()
        data = None if secret is None else secret.data
        chain = read_chain(data)
        now, longest = self._client.wall().timestamp(), _LOOK
        if chain is not None and data is not None and not await self._publish(data[BUNDLE], now):
            longest = _RETRY
        decision = c.decide(chain, self._hosts, self._published, now, self._lifetimes)
        if isinstance(decision, c.Wait):
            return max(1.0, min(decision.until - now, longest))
        _log.info("the certificate of the webhooks: %s", type(decision).__name__)
        await self._write(secret, perform(decision, data, self._hosts, now, self._lifetimes))
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

    def _take(self, secret: Secret) -> None:
        from ._issuing import CERTIFICATE, KEY, read_chain

        if secret.data is None or read_chain(secret.data) is None:
            _log.warning("the Secret %s/%s holds no certificate", self._namespace, self._secret)
            return
        self._context = _context_of(secret.data[CERTIFICATE] + secret.data[KEY])

    async def _publish(self, bundle: bytes, now: float) -> bool:
        """Put the bundle wherever it is missing, and note which authorities were everywhere already.

        Return whether that worked. If not, the authority that is known still issues certificates.
        """
        from ._issuing import ids_in

        everywhere, worked = ids_in(bundle), True
        for resource, name in self._targets:
            try:
                everywhere &= await self._put(resource, name, bundle)
            except NotFound:
                # A configuration that does not exist calls nothing; it gets the bundle when it is created.
                level = logging.DEBUG if (resource, name) in self._missing else logging.WARNING
                _log.log(level, "%s %s, which is to name webhooks, does not exist", resource.kind, name)
                self._missing.add((resource, name))
            except OUTCOMES as error:
                _log.warning(
                    "the bundle of authorities was not put into %s %s: %s", resource.kind, name, error
                )
                everywhere, worked = frozenset[str](), False
            else:
                self._missing.discard((resource, name))
        self._published = {one: self._published.get(one, now) for one in everywhere}
        return worked

    async def _put(self, resource: Resource, name: str, bundle: bytes) -> frozenset[str]:
        """Put the bundle into one configuration or definition, and return the previous one."""
        from ._issuing import ids_in

        text, api = b64encode(bundle).decode(), self._client.api(Dynamic, resource=resource)
        held = [one.get("caBundle", "") for one in _clients(await api.get(name))]
        if any(one != text for one in held):

            def put(found: Dynamic) -> None:
                for client in _clients(found):
                    client["caBundle"] = text

            await api.update(name, put)
        known = ids_in(bundle)
        for one in held:
            known &= ids_in(b64decode(one))
        return known


def _clients(obj: Dynamic) -> list[dict[str, Any]]:
    """Where the webhooks are that a configuration or a definition names."""
    if obj.kind == "CustomResourceDefinition":
        conversion: Any = obj["spec"].get("conversion")
        return [conversion["webhook"]["clientConfig"]] if conversion and "webhook" in conversion else []
    webhooks: list[dict[str, Any]] = obj.get("webhooks") or []
    return [webhook["clientConfig"] for webhook in webhooks]


def _context_of(text: bytes) -> ssl.SSLContext:
    # ssl reads keys from files alone; this one is readable by its owner, and gone right after.
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        return server_context(path)
    finally:
        os.unlink(path)
