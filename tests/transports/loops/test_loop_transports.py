"""The parts in which the transports of asyncio and trio could fail: slow readers, proxies, keys, closing."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import resource
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from kubeproto import ConnectError, RawRequest, TransportError
from kubeproto.config import ConfigError, Connection
from kubeproto_asyncio import AsyncioTransport, _happy_eyeballs
from kubeproto_trio import TrioTransport

Opener = type[TrioTransport] | type[AsyncioTransport]
Main = Callable[[Opener], Coroutine[Any, Any, None]]

OPENERS: Final[dict[str, Opener]] = {"trio": TrioTransport, "asyncio": AsyncioTransport}
GET: Final = RawRequest("GET", "/")
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
STREAM: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def on(loop: str, main: Main) -> None:
    async def run() -> None:
        await main(OPENERS[loop])

    anyio.run(run, backend=loop)


@pytest.fixture(params=OPENERS)
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def nothing_leaks() -> Generator[None]:
    initial_sockets = sockets()
    yield
    gc.collect()
    assert sockets() <= initial_sockets, "a socket is left open"


def sockets() -> set[str]:
    targets: set[str] = set()
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if (target := str(file.readlink())).startswith("socket:"):
                targets.add(target)
    return targets


@asynccontextmanager
async def opened(opener: Opener, connection: Connection) -> AsyncGenerator[TrioTransport | AsyncioTransport]:
    async with opener(connection) as transport:
        yield transport


def plain(listening: socket.socket, **settings: Any) -> Connection:
    return Connection(server=f"http://127.0.0.1:{listening.getsockname()[1]}", **settings)


@contextmanager
def served(serve: Callable[[socket.socket], None], connections: int = 1) -> Generator[socket.socket]:
    """A listening socket whose connections are served in turn, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            for _ in range(connections):
                accepted, _ = listening.accept()
                with accepted, suppress(ConnectionError, ssl.SSLError):
                    serve(accepted)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listening
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def read_request(connected: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        if not (received := connected.recv(4096)):
            break
        data += received
    return data


def answer_once(connected: socket.socket) -> None:
    read_request(connected)
    connected.sendall(ANSWER)


async def body_of(transport: TrioTransport | AsyncioTransport) -> bytes:
    async with transport.send(GET, timeout=20) as incoming:
        return b"".join([chunk async for chunk in incoming])


def test_a_slow_reader_slows_its_server_down_and_loses_nothing(loop: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    async def main(opener: Opener) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            async with (
                opened(opener, plain(listening)) as transport,
                transport_stream(transport, listening) as (
                    incoming,
                    server,
                ),
            ):
                sent_size, rounds = 0, 0
                while rounds < 20:
                    rounds += 1
                    with suppress(BlockingIOError):
                        while True:
                            sent_size += server.send(chunk[sent_size % len(chunk) :])
                            rounds = 0
                            assert sent_size < 64 * 1024 * 1024, (
                                "the transport reads although the caller does not"
                            )
                    await anyio.lowlevel.checkpoint()
                received = 0
                expected_size = sent_size // len(chunk) * 0x10000
                async for some in incoming:
                    received += len(some)
                    if received >= expected_size:
                        break

    on(loop, main)


@asynccontextmanager
async def transport_stream(
    transport: TrioTransport | AsyncioTransport, listening: socket.socket
) -> AsyncGenerator[tuple[Any, socket.socket]]:
    """Yield a response without an end, and the server's end of its connection, to which the test writes."""
    listening.setblocking(False)
    async with anyio.create_task_group() as group:
        server: list[socket.socket] = []

        async def answer() -> None:
            while not server:
                with suppress(BlockingIOError):
                    server.append(listening.accept()[0])
                await anyio.lowlevel.checkpoint()
            server[0].setblocking(False)
            server[0].sendall(STREAM)

        group.start_soon(answer)
        async with transport.send(GET) as incoming:
            with server[0]:
                yield incoming, server[0]


def test_on_asyncio_no_timer_outlives_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[asyncio.TimerHandle] = []

    def serve_five(connected: socket.socket) -> None:
        for _ in range(5):
            answer_once(connected)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def record_timer(when: float, callback: Any, *args: Any, **options: Any) -> asyncio.TimerHandle:
            timers.append(call_at(when, callback, *args, **options))
            return timers[-1]

        monkeypatch.setattr(loop, "call_at", record_timer)
        with served(serve_five) as listening:
            async with AsyncioTransport(plain(listening)) as transport:
                for _ in range(5):
                    async with transport.send(GET, idle=60) as incoming:
                        assert [chunk async for chunk in incoming] == [b"hello"]
        assert len(timers) >= 5
        assert all(timer.cancelled() for timer in timers)

    asyncio.run(main())


@pytest.mark.thorough("the contract has a thousand on one transport, and hundreds on each")
def test_a_thousand_watches_are_open_at_the_same_time(loop: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))

    async def main(opener: Opener) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        all_watch, watching, event_count = anyio.Event(), 0, 0

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                await stream.receive()
                await stream.send(STREAM)
                await all_watch.wait()
                await stream.send(b"6\r\nevent\n\r\n0\r\n\r\n")
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await stream.receive()

        async def watch(transport: TrioTransport | AsyncioTransport) -> None:
            nonlocal watching, event_count
            async with transport.send(GET, idle=60) as incoming:
                watching += 1
                if watching == 1000:
                    all_watch.set()
                chunks = [chunk async for chunk in incoming]
            event_count += chunks == [b"event\n"]

        async with anyio.create_task_group() as servers:
            servers.start_soon(listener.serve, serve)
            connection = Connection(server=f"http://127.0.0.1:{port}")
            async with opened(opener, connection) as transport, anyio.create_task_group() as watches:
                for _ in range(1000):
                    watches.start_soon(watch, transport)
            assert event_count == 1000
            servers.cancel_scope.cancel()
        await listener.aclose()

    try:
        on(loop, main)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def socks_proxy(connected: socket.socket) -> None:
    assert connected.recv(100) == b"\5\2\0\2"
    connected.sendall(b"\5\2")
    assert connected.recv(100) == b"\1\4user\4pass"
    connected.sendall(b"\1\0")
    request = connected.recv(100)
    assert request[:4] == b"\5\1\0\1"
    connected.sendall(b"\5\0\0\1\0\0\0\0\0\0")
    with socket.create_connection(("127.0.0.1", int.from_bytes(request[-2:], "big"))) as behind:
        pump_one_exchange(connected, behind)


def pump_one_exchange(near: socket.socket, far: socket.socket) -> None:
    """Copy bytes in both directions until a side closes."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=(far, near))
    back.start()
    pump(near, far)
    back.join()


def test_a_socks_proxy_gets_its_password(loop: str) -> None:
    async def main(opener: Opener) -> None:
        async with opened(opener, plain(behind, proxy=f"socks5://user:pass@127.0.0.1:{port}")) as transport:
            assert await body_of(transport) == b"hello"

    with served(answer_once) as behind, served(socks_proxy) as proxy:
        port = proxy.getsockname()[1]
        on(loop, main)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def test_tls_within_tls_through_an_https_proxy(loop: str, authority: trustme.CA) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate: Any = authority.issue_cert("127.0.0.1", "localhost")
    certificate.configure_cert(context)

    def serve(connected: socket.socket) -> None:
        with context.wrap_socket(connected, server_side=True) as secure:
            answer_once(secure)
            secure.recv(1)

    def proxy(connected: socket.socket) -> None:
        with context.wrap_socket(connected, server_side=True) as secure:
            assert read_request(secure).startswith(b"CONNECT localhost:")
            secure.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with socket.create_connection(("127.0.0.1", server_port)) as far:
                pump_one_exchange(secure, far)

    async def main(opener: Opener) -> None:
        connection = Connection(
            server=f"https://localhost:{server_port}",
            proxy=f"https://127.0.0.1:{proxy_port}",
            ca=authority.cert_pem.bytes(),
        )
        async with opened(opener, connection) as transport:
            assert await body_of(transport) == b"hello"

    with served(serve) as server, served(proxy) as proxy_listener:
        server_port, proxy_port = server.getsockname()[1], proxy_listener.getsockname()[1]
        on(loop, main)


def test_an_encrypted_key_is_refused_without_a_prompt_for_its_password(
    loop: str, authority: trustme.CA
) -> None:
    client = authority.issue_cert("client.example")
    key = load_pem_private_key(client.private_key_pem.bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2"))
    connection = Connection(
        server="https://h", client_certificate=client.cert_chain_pems[0].bytes(), client_key=encrypted
    )
    with pytest.raises(ConfigError, match=r"client certificate for https://.* and its key cannot be used"):
        OPENERS[loop](connection)


def test_no_secret_is_in_the_repr(loop: str) -> None:
    connection = Connection(server="http://h", headers=(("Authorization", "Bearer hunter2"),))
    assert "hunter2" not in repr(OPENERS[loop](connection))


def test_closing_breaks_open_responses_and_refuses_later_requests(loop: str) -> None:
    def serve(connected: socket.socket) -> None:
        read_request(connected)
        connected.sendall(STREAM + b"2\r\n[]\r\n")
        connected.recv(1)

    async def main(opener: Opener) -> None:
        transport = opener(plain(listening))
        async with transport.send(GET) as incoming:
            pieces = aiter(incoming)
            assert await anext(pieces) == b"[]"
            await transport.aclose()
            with pytest.raises(TransportError, match="GET /"):
                await anext(pieces)
        with pytest.raises(TransportError, match="transport is closed"):
            await body_of(transport)
        await transport.aclose()

    with served(serve) as listening:
        on(loop, main)


def resolve(*addresses: tuple[int, Any]) -> Callable[..., list[Any]]:
    """Return a resolver that has these addresses for every name."""

    def getaddrinfo(host: object, *_: object, flags: int = 0, **__: object) -> list[Any]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not an address")
        return [(family, socket.SOCK_STREAM, 6, "", address) for family, address in addresses]

    return getaddrinfo


def test_on_asyncio_the_next_address_is_tried_after_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(opener: Opener) -> None:
        async with opened(opener, Connection(server="http://two.example")) as transport:
            assert await body_of(transport) == b"hello"

    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = closed.getsockname()
    with served(answer_once) as listening:
        addresses = ((socket.AF_INET, refusing), (socket.AF_INET, listening.getsockname()))
        monkeypatch.setattr(socket, "getaddrinfo", resolve(*addresses))
        on("asyncio", main)


def test_on_asyncio_the_next_address_is_tried_while_another_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(opener: Opener) -> None:
        async with opened(opener, Connection(server="http://two.example")) as transport:
            assert await body_of(transport) == b"hello"

    with served(answer_once) as listening, address_with_full_queue() as silent:
        addresses = ((socket.AF_INET, silent), (socket.AF_INET, listening.getsockname()))
        monkeypatch.setattr(socket, "getaddrinfo", resolve(*addresses))
        on("asyncio", main)


@contextmanager
def address_with_full_queue() -> Generator[Any]:
    """Yield an address that neither accepts nor refuses: its queue is full."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        try:
            for connection in waiting:
                connection.setblocking(False)
                connection.connect_ex(listening.getsockname())
            yield listening.getsockname()
        finally:
            for connection in waiting:
                connection.close()


def test_on_asyncio_the_reason_is_reported_if_every_address_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(opener: Opener) -> None:
        async with opened(opener, Connection(server="http://two.example")) as transport:
            with pytest.raises(ConnectError, match=r"GET /: no connection to two\.example:80: .*refused"):
                await body_of(transport)

    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = (socket.AF_INET, closed.getsockname())
    monkeypatch.setattr(socket, "getaddrinfo", resolve(refusing, refusing))
    on("asyncio", main)


def test_on_asyncio_two_addresses_that_accept_concurrently_leave_a_single_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(_: Opener) -> None:
        both = asyncio.Event()

        async def connected(address: tuple[int, Any]) -> socket.socket:
            # The first connection waits for the second, so that both are established when asyncio continues.
            if address[1] == "first":
                await both.wait()
            both.set()
            near, far = socket.socketpair()
            far.close()
            return near

        monkeypatch.setattr(_happy_eyeballs, "_connect", connected)
        monkeypatch.setattr(_happy_eyeballs, "_ATTEMPT_DELAY", 0.0)
        (await _happy_eyeballs.connect_socket("two.example", 80)).close()
        await asyncio.sleep(0)  # a cancelled task needs another turn to end

    monkeypatch.setattr(socket, "getaddrinfo", resolve((socket.AF_INET, "first"), (socket.AF_INET, "second")))
    on("asyncio", main)


def test_a_program_finds_the_transports_by_the_names_of_their_extras() -> None:
    factories = {
        entry.name: entry.load() for entry in importlib.metadata.entry_points(group="kubeproto.transports")
    }
    assert {name: factories[name] for name in OPENERS} == OPENERS
