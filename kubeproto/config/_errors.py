"""Errors of a configuration or of credentials, which never contain a secret.

::

    KubeprotoError
    ├── ConfigError         a setting that cannot be meant: the message names the place (also a ValueError)
    └── CredentialsError    the credentials could not be had: the message says why
"""

from __future__ import annotations

from .._errors import KubeprotoError


class ConfigError(KubeprotoError, ValueError):
    """A configuration that cannot be used; the message says what is wrong and where."""


class CredentialsError(KubeprotoError):
    """The credentials for a request could not be obtained; the message says why."""
