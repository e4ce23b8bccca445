"""Records every conversation again: ``python tests/realserver/run.py record [NAME...]``."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from asked_release import RELEASE

from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start
from ._conversations import CONVERSATIONS, Stage
from ._real_asking import Asker
from ._real_recording import Recorder


def main(names: list[str]) -> None:
    """Run these conversations, or all of them: later ones need the objects of earlier ones."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers: dict[bool, RealServer] = {}
        for name, (conversation, user, bare) in CONVERSATIONS.items():
            if bare not in servers:
                servers[bare] = stack.enter_context(start(folder / str(bare), watch_cache=not bare))
            server = servers[bare]
            with BlockingHttpxTransport(server.connection_for(user)) as transport:
                recorder = Recorder(transport)
                conversation(Asker(recorder), Stage(RELEASE, Asker(transport), server.compact))
            if not names or name in names:
                recorder.save(RELEASE, name)
                sys.stdout.write(f"{name}: {len(recorder.exchanges)} exchanges\n")


if __name__ == "__main__":
    main(sys.argv[1:])
