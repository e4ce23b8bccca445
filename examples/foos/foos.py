"""Foos on a web page that updates itself: a cache that follows the cluster, and Starlette.

    python examples/foos/foos.py --definition | kubectl apply -f -

    NAMESPACE=default python examples/foos/foos.py

The README describes the deployment in a cluster. Each message to a page contains the complete state, so a
page that missed a message is correct after the next.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto_runtime import Cache, Caches, Client, FollowedKind, ProgramDescription, connect

PAGE: Final = Path(__file__).with_name("foos.html")
PORT: Final = 8000
# Seconds for the streams to end: a page that stops reading would never let its stream end.
STREAM_GRACE_SECONDS: Final = 5


class FooSpec(kp.Fields):
    name: str
    info: str = ""


class Foo(kp.Object[FooSpec, None], group="clux.dev", version="v1", plural="foos"):
    """A Foo with the displayed fields."""


class Foos:
    """The state of the page: the Foos of a namespace, and whether the server still responds."""

    def __init__(self, cache: Cache[Foo]) -> None:
        self.cache = cache
        self.closing = False
        self._changed = anyio.Event()
        self._unsubscribe = cache.notify(self.wake)

    def wake(self) -> None:
        """Wake the streams of all pages."""
        self._changed.set()
        self._changed = anyio.Event()

    def close(self) -> None:
        """End all streams."""
        self._unsubscribe()
        self.closing = True
        self.wake()

    def rows(self) -> list[dict[str, str]]:
        """Return every Foo by its name, and the error of a Foo that does not fit its class."""
        return sorted((_row(foo) for foo in self.cache), key=lambda row: row["object"])

    def state(self) -> dict[str, Any]:
        status = self.cache.sync_status
        return {"foos": self.rows() if status.synced else [], "live": status.live, "why": status.reason}

    async def states(self) -> AsyncIterator[str]:
        """Yield the state, and each later one, as server-sent events."""
        last_state = ""
        while not self.closing:
            changed = self._changed
            if (text := json.dumps(self.state())) != last_state:
                yield f"data: {text}\n\n"
                last_state = text
            # `changed` was taken before the yield, so a change during a slow send is not missed.
            await changed.wait()


def _row(foo: Foo) -> dict[str, str]:
    try:
        return {"object": foo.metadata.name, "name": foo.spec.name, "info": foo.spec.info}
    except kp.InvalidObject as error:
        return {"object": foo.metadata.name, "name": "", "info": str(error)}


async def page(request: Request) -> Response:
    return FileResponse(PAGE, media_type="text/html")


async def list_foos(request: Request) -> Response:
    foos: Foos = request.app.state.foos
    if not foos.cache.synced:
        return JSONResponse({"error": foos.cache.sync_status.reason}, 503)
    return JSONResponse(foos.rows())


async def events(request: Request) -> Response:
    foos: Foos = request.app.state.foos
    return StreamingResponse(
        foos.states(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def ready(request: Request) -> Response:
    """Report whether a state is available, even an old state while the server is unreachable."""
    status = request.app.state.foos.cache.sync_status
    return PlainTextResponse(f"{status.reason or 'in sync'}\n", 200 if status.synced else 503)


def application(client_context: AbstractAsyncContextManager[Client], namespace: str = "") -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with client_context as client, Caches(client) as caches:
            app.state.foos = Foos(caches.cache(Foo, namespace=namespace or client.namespace))
            yield

    routes = [
        Route("/", page),
        Route("/foos", list_foos),
        Route("/events", events),
        Route("/healthz", healthy),
        Route("/livez", healthy),
        Route("/readyz", ready),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


class Server(uvicorn.Server):
    """A server that ends the streams when it stops: otherwise it would wait until pages are closed."""

    def __init__(self, app: Starlette, *, host: str, port: int) -> None:
        super().__init__(
            uvicorn.Config(app, host=host, port=port, timeout_graceful_shutdown=STREAM_GRACE_SECONDS)
        )
        self.app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        foos: Foos | None = getattr(self.app.state, "foos", None)  # None before the start
        if foos is not None:
            foos.close()


def deployed(client: Client) -> ProgramDescription:
    """Return the program that `manifests.yaml` deploys, which shows the Foos of its own namespace."""
    return ProgramDescription(
        kinds=(Foo,),
        follows=(FollowedKind(Foo.resource, (client.namespace,)),),
        reconciles=False,
        health_port=PORT,
        http_port=PORT,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Foos on a web page.")
    parser.add_argument("--definition", action="store_true", help="print the definition of Foos, and end")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=PORT, help="the port (default: %(default)s)")
    options = parser.parse_args()
    if options.definition:
        print(definition_of(Foo).to_yaml(), end="")
        return
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    app = application(connect(), os.environ.get("NAMESPACE", ""))
    Server(app, host=options.host, port=options.port).run()


if __name__ == "__main__":
    main()
