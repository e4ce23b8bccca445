"""The page on broken peers says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeproto.watching import _line_buffer, _resync_requests, pager
from kubeproto.wire import _bodies, _inflate, _responses
from kubeproto_asyncio import _dialling as asyncio_dialling
from kubeproto_h11 import MAX_HEAD, _exchange, _websockets
from kubeproto_runtime.calls import _attempts

PAGE = (Path(__file__).parents[2] / "docs/broken-peers.md").read_text()


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        ("does not answer the dialling", [asyncio_dialling.DIAL]),
        ("shakes no hands", [asyncio_dialling.SHAKE_HANDS]),
        ("interim responses (1xx)", [_exchange._MAX_INTERIM]),  # pyright: ignore[reportPrivateUsage]
        ("sends a head of more than", [MAX_HEAD >> 10]),
        (
            "sends a chunk extension",
            [
                _bodies._MAX_LINE >> 10,  # pyright: ignore[reportPrivateUsage]
                _bodies._MAX_TRAILERS >> 10,  # pyright: ignore[reportPrivateUsage]
            ],
        ),
        ("sends gzip", [_inflate.MAX_RATIO]),
        ("a call (", [_attempts.SILENCE, _attempts.TIMEOUT]),
        ("a list of a cache", [pager.PROGRESS, pager.LIST_TIMEOUT]),
        ("a watch |", [_resync_requests.IDLE]),
        ("the body of any refusal", [_responses.REFUSAL_TIME, _responses.MAX_REFUSAL >> 20]),
        ("a WebSocket", [_websockets.PING]),
        ("pages in a row", [pager.MAX_EMPTY_PAGES]),
        ("token of over", [pager.MAX_TOKEN >> 10]),
        ("a version of over", [pager.MAX_VERSION >> 10]),
        ("a line or an item", [_line_buffer.MAX_LINE >> 20]),
    ],
)
def test_the_figures_of_the_page_are_those_of_the_code(row: str, figures: list[float]) -> None:
    [line] = [line for line in PAGE.splitlines() if row in line and line.startswith("|")]
    for figure in figures:
        assert f"{figure:g}" in line, line
