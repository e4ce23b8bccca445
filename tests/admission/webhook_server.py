"""A webhook server over HTTPS on this machine, with its own certificate authority."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import trustme
from admission_cases import Behaviour, Json

_SILENT: Final = 40.0  # seconds, longer than a server waits for a conversion
_LATE: Final = 1.5  # seconds, longer than the timeout of the webhooks


class WebhookServer(ThreadingHTTPServer):
    """Answers reviews over HTTPS with the behaviours of the current step, and records them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviours: dict[str, Behaviour] = {}
        self.calls: list[tuple[str, Json]] = []
        self.stopped = threading.Event()
        self.authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.certificate: Any = self.authority.issue_cert("127.0.0.1", "hooks.default.svc")
        self.certificate.configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients disconnect from late and untrusted webhooks."""

    def respond(self, path: str, review: Json) -> tuple[int, bytes] | None:
        """Return the status and the body of the response to a review, or None for no response."""
        request = review["request"]
        self.calls.append((path, request))
        behave = self.behaviours.get(path)
        answer = {"allowed": True} if behave is None else behave(request)
        if answer == "timeout":
            time.sleep(_LATE)
            return None
        if answer == "silence":
            self.stopped.wait(_SILENT)
            return None
        if isinstance(answer, tuple):
            return answer
        assert isinstance(answer, dict)
        response = {"uid": request["uid"], **answer}
        envelope = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}
        return 200, json.dumps(envelope).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        webhooks = self.server
        assert isinstance(webhooks, WebhookServer)
        answer = webhooks.respond(self.path.partition("?")[0][1:], review)
        if answer is None:
            self.close_connection = True
            return
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving_webhooks() -> Generator[WebhookServer]:
    """Run a webhook server in a thread."""
    with WebhookServer() as webhooks:
        thread = threading.Thread(target=webhooks.serve_forever)
        thread.start()
        try:
            yield webhooks
        finally:
            webhooks.stopped.set()
            webhooks.shutdown()
            thread.join()
