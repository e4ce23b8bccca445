"""Credentials: configuration files, exec plugins, and the transport that sends credentials."""

from ._authorized_transport import AuthorizedTransport as AuthorizedTransport

__all__ = []
