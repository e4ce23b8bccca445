"""`OpenConversation`: a command or a port-forward of a simulated pod over a WebSocket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeproto import KubeprotoError
from kubeproto_h11 import WebSocketFraming

from ._open_streams import OpenStream

if TYPE_CHECKING:
    import anyio

    from kubeproto_sim import Conversation

    from ._cluster_driver import ClusterDriver
    from ._open_streams import OpenStreams
    from ._socket_channel import SocketChannel


class OpenConversation(OpenStream):
    """An open conversation in both directions. Messages of the client reach the pod in order."""

    def __init__(
        self, conversation: Conversation, channel: SocketChannel, service: OpenStreams, driver: ClusterDriver
    ) -> None:
        super().__init__(conversation, channel, service)
        self._conversation = conversation
        self._driver = driver
        self._framing = WebSocketFraming(server=True)

    async def converse(self, received: bytes) -> None:
        """Forward messages until one side closes; `received` are bytes that have already arrived."""
        self._framing = WebSocketFraming(received, server=True)
        self._driver.wake()  # the command has started, and may be waiting for a time
        await self.send_all(self._send_message)
        await self._channel.send(self._framing.outgoing + self._framing.close())

    async def _send_message(self, message: bytes) -> None:
        if self._framing.open:
            await self._channel.send(self._framing.send(message))

    async def _await_hang_up(self, scope: anyio.CancelScope) -> None:
        """Receive messages of the client until it closes."""
        framing, data = self._framing, b""
        try:
            while True:
                for message in framing.feed(data):
                    self._driver.feed(self._conversation, message)
                if reply := framing.outgoing:
                    await self._channel.send(reply)
                if framing.close_reason is not None or not (data := await self._channel.receive_more()):
                    break
        except KubeprotoError:
            pass  # this is not a WebSocket: the connection ends
        scope.cancel()
