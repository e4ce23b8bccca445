"""Admission and conversion webhooks: typed handlers, an ASGI application, and a server over TLS."""

from ._admission_handlers import Admission, Defaulter, Validator
from ._certificate_files import CertificateFiles, CertificateSource
from ._managed_certificates import ManagedCertificates
from ._webhook_configurations import WebhookAddress, WebhookOptions
from ._webhook_server import WebhookServer, WebhookStats as WebhookStats
from ._webhooks import WebhookApplication, Webhooks

__all__ = [
    "Admission",
    "CertificateFiles",
    "CertificateSource",
    "Defaulter",
    "ManagedCertificates",
    "Validator",
    "WebhookAddress",
    "WebhookApplication",
    "WebhookOptions",
    "WebhookServer",
    "Webhooks",
]
