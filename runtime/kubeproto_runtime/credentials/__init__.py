"""Credentials: configuration files, exec plugins, and the transport that sends credentials."""

from ._authorized import Authorized

__all__ = ["Authorized"]
