"""Every verb of the API as a request: a value that is sent, and that reads the response."""

from ._api import Api, Tables as Tables
from ._discovery_documents import Discovery
from ._discovery_requests import DiscoveryProgress as DiscoveryProgress
from ._parameters import ApplyOptions, DeletionOptions, ListOptions as ListOptions, WriteOptions
from ._request import Reply, Request, StreamRequest
from ._server_requests import (
    Health,
    ServerVersion,
    health,
    openapi_document as openapi_document,
    openapi_index as openapi_index,
    version,
)
from ._shard_selector import Shard
from ._subresource_requests import Subresource as Subresource
from ._targets import ALL, AllNamespaces

__all__ = [
    "ALL",
    "AllNamespaces",
    "Api",
    "ApplyOptions",
    "DeletionOptions",
    "Discovery",
    "Health",
    "Reply",
    "Request",
    "ServerVersion",
    "Shard",
    "StreamRequest",
    "WriteOptions",
    "health",
    "version",
]
