"""Admission and conversion webhooks: typed handlers, an ASGI application, and a server over TLS."""

from ._admission import Admission, Defaulter, Validator
from ._call_stats import WebhookStats
from ._certificate_files import CertificateFiles, CertificateSource
from ._configurations import WebhookOptions, Where
from ._managed_certificates import ManagedCertificates
from ._server import WebhookServer
from ._webhooks import WebhookApplication, Webhooks

__all__ = [
    "Admission",
    "CertificateFiles",
    "CertificateSource",
    "Defaulter",
    "ManagedCertificates",
    "Validator",
    "WebhookApplication",
    "WebhookOptions",
    "WebhookServer",
    "WebhookStats",
    "Webhooks",
    "Where",
]
