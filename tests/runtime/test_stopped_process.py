"""A leader that is stopped (SIGSTOP) and continued writes nothing after another process has taken over."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Final

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_h11 import Response, ServerConnection, serve_requests
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, simulated

# Its first write is the one that the process is stopped at; the second one it makes as soon as it goes on.
LEADER: Final = """
import sys
import anyio
from kubeproto.config import Config, Connection
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Controller, LeaseLost, Operator, connect
from kubeproto_runtime.operator import LeaderElector

async def main(port, backend):
    config = Config(connection=Connection(server=f"http://127.0.0.1:{port}"))
    async with connect(config=config) as client:

        async def reconcile(subject, ctx):
            with anyio.CancelScope(shield=True):
                for number in (1, 2):
                    try:
                        await client.api(ConfigMap).merge_patch(ctx.name, {"data": {"write": str(number)}})
                    except LeaseLost:
                        print(number, "was refused", flush=True)
                    else:
                        print(number, "was sent", flush=True)
            operator.stop()

        election = LeaderElector(
            client, name="books", identity="stopped", lease_duration=1, renew_deadline=0.8, retry_period=0.2
        )
        operator = Operator(election=election)
        await operator.run(Controller(client, ConfigMap).run(reconcile))

anyio.run(main, *sys.argv[1:], backend=sys.argv[2])
"""


class Server:
    """The simulated API server on a socket. It answers the first write once another process leads."""

    def __init__(self, cluster: sim.Cluster) -> None:
        self.cluster = cluster
        self.written: list[bytes] = []
        self.asked, self.taken_over = anyio.Event(), anyio.Event()

    async def respond(self, request: kp.RawRequest) -> Response:
        if request.method == "PATCH":
            self.written.append(request.body)
            self.asked.set()
            await self.taken_over.wait()
        answer = self.cluster.respond(request)
        if not isinstance(answer.body, bytes):  # a watch, which has nothing to tell here
            answer.body.close()
            return Response(503)
        return Response(answer.status, answer.headers, answer.body)

    async def handle(self, stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with stream:
                await serve_requests(Channel(stream), ServerConnection(), self.respond)


class Channel:
    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""


@pytest.mark.one_python
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGSTOP")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_leader_that_was_stopped_for_longer_than_its_lease_sends_no_write(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.put(ConfigMap(metadata=kp.ObjectMeta(name="a")))
        server, said = Server(cluster), b""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(SocketAttribute.local_port)
        async with simulated(cluster) as client, listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, server.handle)
            async with await anyio.open_process(
                [sys.executable, "-c", LEADER, str(port), backend], stderr=None
            ) as leader:
                await server.asked.wait()
                leader.send_signal(signal.SIGSTOP)
                other = LeaderElector(
                    client, name="books", identity="other",
                    lease_duration=1, renew_deadline=0.8, retry_period=0.2, release=False,
                )  # fmt: skip

                async def take_over() -> None:
                    found = cluster.get(Lease, "books")
                    assert found is not None
                    assert found["spec"]["holderIdentity"] == "other"
                    server.taken_over.set()

                await other.run(take_over)
                leader.send_signal(signal.SIGCONT)
                assert leader.stdout is not None
                async for piece in leader.stdout:
                    said += piece
            tasks.cancel_scope.cancel()
        assert said == b"1 was sent\n2 was refused\n"
        assert server.written == [b'{"data":{"write":"1"}}']

    async def bounded() -> None:
        with anyio.fail_after(120):
            await main()

    anyio.run(bounded, backend=backend)
