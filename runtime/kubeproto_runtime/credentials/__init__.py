"""Credentials: configuration files, exec plugins, and the transport that sends what they bring."""

from ._authorized import Authorized

__all__ = ["Authorized"]
