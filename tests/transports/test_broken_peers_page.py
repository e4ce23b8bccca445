"""The page on broken peers says what the code does: each row has its tests, and the figures of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kubeproto.watching import _line_buffer, _resync_requests, pager
from kubeproto.wire import _bodies, _inflate, _responses
from kubeproto_asyncio import _dialling as asyncio_dialling
from kubeproto_asyncio import _socket as asyncio_socket
from kubeproto_h11 import MAX_HEAD, _exchange, _websockets
from kubeproto_httpx import _exchange as httpx_exchange
from kubeproto_runtime import BodyLimits
from kubeproto_runtime.calls import _attempts
from kubeproto_trio import _dialling as trio_dialling

TESTS: Final = Path(__file__).parents[1]
PAGE: Final = (Path(__file__).parents[2] / "docs/broken-peers.md").read_text()


def code(module: Any, name: str) -> Any:
    """A constant that is not business of users."""
    return getattr(module, name)


KEEP_ALIVE: Final[dict[str, int]] = code(asyncio_socket, "_KEEP_ALIVE")

# The beginning of each row, the figures that it names, and the tests that try it.
ROWS: Final[dict[str, tuple[list[float], list[str]]]] = {
    "does not accept the TCP connection": (
        [asyncio_dialling.DIAL, trio_dialling.DIAL, httpx_exchange.CONNECT_TIMEOUT],
        ["test_a_server_that_is_silent_from_the_start_is_noticed_too"],
    ),
    "accepts, and does not complete the handshake": (
        [asyncio_dialling.SHAKE_HANDS, trio_dialling.SHAKE_HANDS, httpx_exchange.CONNECT_TIMEOUT],
        ["test_a_server_that_says_nothing_in_the_handshake_was_never_reached"],
    ),
    "vanishes silently": (
        [KEEP_ALIVE["TCP_KEEPIDLE"] + KEEP_ALIVE["TCP_KEEPINTVL"] * KEEP_ALIVE["TCP_KEEPCNT"]],
        ["test_a_kernel_that_refuses_keep_alive_is_no_reason_not_to_connect"],
    ),
    "sends no head, or a head byte by byte": (
        [],
        ["test_a_half_open_peer_is_noticed_by_its_silence", "test_bytes_now_and_then_prolong_no_deadline"],
    ),
    "sends the size of a chunk": ([], ["test_bytes_now_and_then_prolong_no_deadline"]),
    "sends a body byte by byte": ([], ["test_a_body_that_drips_is_left_when_the_time_is_up"]),
    "sends more than": (
        [code(_exchange, "_MAX_INTERIM")],
        ["test_what_is_not_a_body_does_not_go_on_forever", "test_eight_interim_responses_are_passed_over"],
    ),
    "sends a head of more than": ([MAX_HEAD >> 10], ["test_a_head_of_66_kb_is_refused_however_it_comes"]),
    "sends a chunk extension": (
        [code(_bodies, "_MAX_LINE") >> 10, code(_bodies, "_MAX_TRAILERS") >> 10],
        ["test_what_is_not_a_body_does_not_go_on_forever"],
    ),
    "sends gzip": ([_inflate.MAX_RATIO, 16], ["test_no_flood_takes_memory"]),
    "a call (": (
        [_attempts.SILENCE, _attempts.TIMEOUT],
        ["test_a_read_that_falls_silent_is_retried_while_there_is_time"],
    ),
    "a list of a cache": (
        [pager.PROGRESS, pager.LIST_TIMEOUT],
        ["test_a_list_that_drips_bytes_and_no_objects_is_asked_for_again"],
    ),
    "a watch |": (
        [_resync_requests.IDLE],
        ["test_a_watch_that_brings_bytes_and_no_events_is_opened_anew"],
    ),
    "a streaming list": (
        [_resync_requests.IDLE],
        ["test_a_streaming_list_that_drips_is_left_for_a_plain_one"],
    ),
    "the body of any refusal": (
        [_responses.REFUSAL_TIME, _responses.MAX_REFUSAL >> 20],
        [
            "test_of_a_refusal_no_more_is_read_than_says_why",
            "test_of_a_refusal_without_an_end_as_much_is_read_as_says_why",
        ],
    ),
    "a WebSocket": (
        [_websockets.PING],
        ["test_a_server_that_answers_no_ping_is_left_when_it_stays_silent"],
    ),
    "the `continue` token that": (
        [],
        [
            "test_a_list_in_pages_that_never_ends_is_left",
            "test_a_cache_asks_for_a_list_that_never_ends_in_one_piece",
        ],
    ),
    "10 pages in a row": (
        [pager.MAX_EMPTY_PAGES],
        ["test_a_cache_asks_for_a_list_that_never_ends_in_one_piece"],
    ),
    "a `continue` token of over": (
        [pager.MAX_TOKEN >> 10],
        ["test_a_cache_asks_for_a_list_that_never_ends_in_one_piece"],
    ),
    "a version of over": (
        [pager.MAX_VERSION >> 10],
        [
            "test_a_cache_asks_for_a_list_that_never_ends_in_one_piece",
            "test_a_version_that_is_too_long_to_be_sent_back_is_listed_again",
        ],
    ),
    "a line or an item": (
        [_line_buffer.MAX_LINE >> 20],
        ["test_sp_09_w_25_a_line_over_the_limit_is_refused_however_it_comes"],
    ),
    "an object or a list": (
        [BodyLimits().objects >> 20],
        ["test_an_object_without_an_end_is_refused_at_the_limit", "test_no_flood_takes_memory"],
    ),
    "control characters": ([], ["test_a_status_forges_no_lines_and_fills_no_log"]),
}


def rows() -> list[str]:
    """The rows of the tables on the page, without their heads."""
    heads = {"The server or the network", "Who", "The server sends"}
    cells = [line[2:] for line in PAGE.splitlines() if line.startswith("| ")]
    return [row for row in cells if row.partition(" |")[0] not in heads]


def test_every_row_of_the_page_has_its_tests_and_no_test_is_of_no_row() -> None:
    for row in rows():
        assert [front for front in ROWS if row.startswith(front)], row
    assert len(rows()) == len(ROWS)


@pytest.mark.parametrize("front", ROWS)
def test_the_figures_of_the_page_are_those_of_the_code(front: str) -> None:
    [row] = [row for row in rows() if row.startswith(front)]
    for figure in ROWS[front][0]:
        assert f"{figure:g}" in row, row


def test_the_tests_of_the_page_exist() -> None:
    named = {test for _, tests in ROWS.values() for test in tests}
    texts = [path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert {test for test in named if not any(f"def {test}(" in text for text in texts)} == set()
