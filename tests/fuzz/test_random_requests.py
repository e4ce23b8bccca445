"""Every request gets a response, whatever is in it."""

from __future__ import annotations

import os
import random
from typing import Final

from random_requests import Draw, ask_randomly, new_cluster, responses

REQUESTS: Final = int(os.environ.get("KUBEPROTO_REQUESTS", "4000"))


def test_random_requests_are_all_answered() -> None:
    """`KUBEPROTO_REQUESTS=1000000` asks for longer."""
    rng = random.Random(19)
    count = 0
    while count < REQUESTS:
        count += sum(1 for _ in responses(new_cluster(), Draw(rng.randbytes(6000))))
    assert count >= REQUESTS


def test_the_same_bytes_draw_the_same_requests() -> None:
    data = random.Random(5).randbytes(2000)
    assert ask_randomly(data) == ask_randomly(data) > 5
