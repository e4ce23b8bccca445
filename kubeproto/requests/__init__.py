"""Every verb of the API as a request: a value that says what to send and what the answer means."""

from ._api import ALL, Api
from ._request import Opening, Reading, Reply, Request, StreamRequest

__all__ = ["ALL", "Api", "Opening", "Reading", "Reply", "Request", "StreamRequest"]
