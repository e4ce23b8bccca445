"""Reads the kinds of each older release into `tools/kinds/releases.json`, which `make kinds` uses.

``python tests/realserver/run.py releases`` builds each release first, which takes some minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from kubeproto.wire import BlockingTransport, RawRequest
from kubeproto_httpx import BlockingHttpxTransport
from tools.kinds import _api_description, _release_differences
from tools.kinds._description_sources import from_reader
from tools.kinds._kind_table import table_of

from . import RealServer
from ._real_build import releases


def main(chosen: list[str]) -> None:
    """Renew the data of these releases, or of all."""
    newest = table_of(json.loads(_api_description.PATH.read_bytes()))
    known_releases = _release_differences.read()
    for release in chosen or [
        number for number in releases() if not newest.kubernetes.startswith(f"{number}.")
    ]:
        with tempfile.TemporaryDirectory() as folder, RealServer(Path(folder), release=release) as server:
            server.start()
            with BlockingHttpxTransport(server.connection) as transport:
                older = table_of(description_of(transport))
            known_releases[release] = _release_differences.difference(newest, older)
        sys.stdout.write(f"{release}: {known_releases[release].kubernetes}\n")
    text = _release_differences.dump(dict(sorted(known_releases.items())))
    _release_differences.RELEASES.write_text(text)


def description_of(transport: BlockingTransport) -> dict[str, Any]:
    """Return the kinds of a server."""

    def read(path: str, accept: str) -> Any:
        with transport.send(RawRequest("GET", path, (("Accept", accept),)), timeout=60.0) as incoming:
            body = b"".join(incoming)
            assert incoming.status == 200, (path, incoming.status, body)
            return json.loads(body)

    return from_reader(read)


if __name__ == "__main__":
    main(sys.argv[1:])
