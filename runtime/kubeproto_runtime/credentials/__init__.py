"""Credentials: configuration files, exec plugins, and the transport that sends credentials."""

from ._authorized import Authorized as Authorized

__all__ = []
