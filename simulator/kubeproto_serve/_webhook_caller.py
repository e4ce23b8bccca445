"""Calls webhooks over HTTPS, for a cluster on a port: one connection for each call."""

from __future__ import annotations

import posixpath
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

import anyio
import h11

from kubeproto_sim import WebhookCall, WebhookReply

if TYPE_CHECKING:
    from anyio.abc import ByteStream

_MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024
_READ_SIZE: Final = 65536
# The message of a server in Go.
_UNTRUSTED: Final = "tls: failed to verify certificate: x509: certificate signed by unknown authority"


class WebhookCaller:
    """Calls webhooks. `services` are the addresses of Services by ``namespace/name``."""

    def __init__(self, services: Mapping[str, str] | None = None) -> None:
        self._services = dict(services or {})

    async def call(self, call: WebhookCall) -> WebhookReply:
        """Return the outcome of a call; a failure is an outcome, not an exception."""
        url = _request_url(call)
        posted = f'Post "{urlunsplit(url)}"'
        host, port = url.hostname or "", url.port or 443
        peer = host, port
        if call.service:
            if (address := self._services.get(call.service)) is None:
                name = call.service.partition("/")[2]
                return WebhookReply(failure=f'{posted}: service "{name}" not found', request_body=call.body)
            address_parts = urlsplit(address if "//" in address else f"//{address}")
            peer = address_parts.hostname or "127.0.0.1", address_parts.port or 443
        try:
            with anyio.fail_after(call.timeout):
                return await self._exchange(call, peer, host)
        except TimeoutError:
            problem = call.timeout_message
        except ssl.SSLCertVerificationError:
            problem = _UNTRUSTED
        except ConnectionRefusedError:
            problem = f"dial tcp {peer[0]}:{peer[1]}: connect: connection refused"
        except OSError as error:
            refused = isinstance(error.__cause__, ConnectionRefusedError)
            reason = "connection refused" if refused else str(error)
            problem = f"dial tcp {peer[0]}:{peer[1]}: connect: {reason}"
        except (h11.RemoteProtocolError, anyio.EndOfStream, anyio.BrokenResourceError):
            problem = "EOF"
        return WebhookReply(failure=f"{posted}: {problem}", request_body=call.body)

    async def _exchange(self, call: WebhookCall, peer: tuple[str, int], host: str) -> WebhookReply:
        context = ssl.create_default_context(cadata=call.authority or None)
        # Like Go: the bundle may be the certificate of the webhook itself.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        stream = await anyio.connect_tcp(
            *peer, tls=True, ssl_context=context, tls_hostname=host, tls_standard_compatible=False
        )
        async with stream:
            return await _post(stream, call)


def _request_url(call: WebhookCall) -> SplitResult:
    """Return the URL with the time limit, and with a path without double slashes and dots."""
    url = urlsplit(call.url)
    query = "&".join(part for part in (url.query, f"timeout={call.timeout}s") if part)
    return url._replace(path="/" + posixpath.normpath(f"/{url.path}").strip("/"), query=query)


async def _post(stream: ByteStream, call: WebhookCall) -> WebhookReply:
    url = _request_url(call)
    connection = h11.Connection(h11.CLIENT)
    headers = [
        ("Host", url.netloc), ("Accept", "application/json, */*"), ("Content-Type", "application/json"),
        ("Content-Length", str(len(call.body))), ("Connection", "close"),
    ]  # fmt: skip
    request = h11.Request(method="POST", target=f"{url.path}?{url.query}", headers=headers)
    for event in (request, h11.Data(data=call.body), h11.EndOfMessage()):
        await stream.send(connection.send(event) or b"")
    status, body = 0, bytearray()
    while True:
        event_ = connection.next_event()
        match event_:
            case h11.NEED_DATA:
                try:
                    connection.receive_data(await stream.receive(_READ_SIZE))
                except anyio.EndOfStream:
                    connection.receive_data(b"")
            case h11.Response():
                status = event_.status_code
            case h11.Data():
                body += event_.data
                if len(body) > _MAX_RESPONSE_BYTES:
                    return WebhookReply(
                        failure=f"the response has more than {_MAX_RESPONSE_BYTES} bytes",
                        request_body=call.body,
                    )
            case h11.EndOfMessage():
                return WebhookReply(status, bytes(body), request_body=call.body)
            case _:
                pass
