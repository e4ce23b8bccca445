"""The conversations of `make test`, with the server itself instead of recordings."""

from __future__ import annotations

import pytest
from asked_release import RELEASE

from kubeproto_httpx import BlockingHttpxTransport
from realserver import RealServer

from ._conversations import CONVERSATIONS, Stage
from ._real_asking import Asker


# In order: the first defines the kind of the others.
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_with_the_server_succeeds_like_with_its_recording(
    real_server: RealServer, uncached_server: RealServer, name: str
) -> None:
    conversation, user, bare = CONVERSATIONS[name]
    server = uncached_server if bare else real_server
    with BlockingHttpxTransport(server.connection_for(user)) as transport:
        asker = Asker(transport)
        conversation(asker, Stage(RELEASE, asker, server.compact))
