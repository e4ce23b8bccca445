"""A web application that serves from a cache: `python examples/programs/web_shelf.py`."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from aiohttp import web
from book import Book

from kubeproto_runtime import Cache, Caches, Client, connect

BOOKS = web.AppKey("books", Cache[Book])


async def titles(request: web.Request) -> web.Response:
    return web.json_response({book.metadata.name: book.spec.title for book in request.app[BOOKS]})


async def title(request: web.Request) -> web.Response:
    if (book := request.app[BOOKS].get(request.match_info["name"], request.match_info["namespace"])) is None:
        raise web.HTTPNotFound
    return web.json_response({"title": book.spec.title, "authors": book.spec.authors})


def application(client_context: AbstractAsyncContextManager[Client]) -> web.Application:
    async def cached(app: web.Application) -> AsyncIterator[None]:
        async with client_context as client, Caches(client) as caches:
            app[BOOKS] = caches.cache(Book)
            await app[BOOKS].wait_synced(timeout=30)
            yield

    app = web.Application()
    app.cleanup_ctx.append(cached)
    app.add_routes([web.get("/books", titles), web.get("/books/{namespace}/{name}", title)])
    return app


if __name__ == "__main__":
    web.run_app(application(connect()))
