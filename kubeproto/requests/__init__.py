"""Every verb of the API as a request: a value with what to send and what the response means."""

from ._api import Api, Tables
from ._discovered import ApiGroup, ApiVersion, Discovery, Root
from ._discovery import Discovering, discovery_resources, discovery_root
from ._parameters import ApplyOptions, DeletionOptions, ListOptions, LogOptions, WriteOptions
from ._request import Reading, Reply, Request, StreamOpener, StreamRequest
from ._server import Health, ServerVersion, health, openapi_document, openapi_index, version
from ._shards import Shard, shard, shard_hash
from ._subresources import Subresource
from ._targets import ALL, AllNamespaces

__all__ = [
    "ALL",
    "AllNamespaces",
    "Api",
    "ApiGroup",
    "ApiVersion",
    "ApplyOptions",
    "DeletionOptions",
    "Discovering",
    "Discovery",
    "Health",
    "ListOptions",
    "LogOptions",
    "Reading",
    "Reply",
    "Request",
    "Root",
    "ServerVersion",
    "Shard",
    "StreamOpener",
    "StreamRequest",
    "Subresource",
    "Tables",
    "WriteOptions",
    "discovery_resources",
    "discovery_root",
    "health",
    "openapi_document",
    "openapi_index",
    "shard",
    "shard_hash",
    "version",
]
