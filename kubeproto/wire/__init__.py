"""Between the core and the bytes: the transports' seam, inflating, and what an outcome means."""

from ._answers import header, read_status, refusal, retry_after, warnings
from ._seam import BlockingIncoming, BlockingTransport, Decoder, Head, Headers, Incoming, Transport

__all__ = [
    "BlockingIncoming",
    "BlockingTransport",
    "Decoder",
    "Head",
    "Headers",
    "Incoming",
    "Transport",
    "header",
    "read_status",
    "refusal",
    "retry_after",
    "warnings",
]
