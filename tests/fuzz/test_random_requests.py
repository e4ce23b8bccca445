"""Every request gets a response, with any content."""

from __future__ import annotations

import os
import random
from typing import Final

from random_requests import Draw, new_cluster, responses, send_random_requests

REQUESTS: Final = int(os.environ.get("KUBEPROTO_REQUESTS", "4000"))


def test_all_random_requests_get_a_response() -> None:
    """`KUBEPROTO_REQUESTS=1000000` runs longer."""
    rng = random.Random(19)
    count = 0
    while count < REQUESTS:
        count += sum(1 for _ in responses(new_cluster(), Draw(rng.randbytes(6000))))
    assert count >= REQUESTS


def test_the_same_bytes_draw_the_same_requests() -> None:
    data = random.Random(5).randbytes(2000)
    assert send_random_requests(data) == send_random_requests(data) > 5
