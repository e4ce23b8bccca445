"""Where the server is, how to reach it, and who asks: kubeconfig, in-cluster settings, credentials."""

from ._connection import Connection
from ._errors import ConfigError, CredentialsError
from ._urls import Url

__all__ = [
    "ConfigError",
    "Connection",
    "CredentialsError",
    "Url",
]
