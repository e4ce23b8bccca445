"""Every wrapper of a transport keeps its contract: the same tests, through each wrapper of the runtime.

These tests detect a wrapper that forgets a method, a limit or a cancellation. They are a selection of the
suite: requests, bodies, failures, pooling, cancellation and WebSockets.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
import test_contract_cancellation as cancellation
import test_contract_failures as failures
import test_contract_framing as framing
import test_contract_pooling as pooling
import test_contract_requests as requests
import test_contract_websockets as websockets
from contract_transports import ALL_RIGS, Rig, Wrapper

from kubeproto.config import Config, Connection, Identity
from kubeproto_runtime.blocking import BlockingAuthorizedTransport
from kubeproto_runtime.credentials import AuthorizedTransport

test_a_body_is_sent_with_its_length = requests.test_a_body_is_sent_with_its_length
test_headers_are_sent_in_order = requests.test_headers_are_sent_in_order_without_additions
test_an_invalid_request_is_refused = requests.test_an_invalid_request_is_refused_without_being_quoted
test_chunks_are_returned_before_more_is_sent = framing.test_data_is_returned_before_more_is_sent
test_a_port_without_a_listener_is_a_connect_error = failures.test_a_port_without_a_listener_is_a_connect_error
test_data_before_a_lost_connection_is_kept = failures.test_data_before_a_lost_connection_is_returned
test_a_silent_server_times_out = failures.test_a_server_that_falls_silent_times_out
test_a_half_open_peer_times_out = failures.test_a_half_open_peer_times_out
test_a_connection_is_reused_for_ten_requests = pooling.test_a_connection_is_reused_for_ten_requests
test_an_unread_response_closes_its_connection = (
    pooling.test_an_unread_response_immediately_closes_its_connection
)
test_an_error_of_the_caller_propagates = (
    pooling.test_an_error_of_the_caller_propagates_and_closes_the_connection
)
test_a_cancelled_request_leaves_nothing_open = (
    cancellation.test_a_request_on_a_new_connection_is_cancelled_at_every_wait
)
test_a_cancelled_watch_closes_its_connection = (
    cancellation.test_a_watch_that_is_cancelled_in_silence_closes_its_connection
)
test_waiting_for_a_slow_head_is_cancelled = cancellation.test_waiting_for_a_slow_head_can_be_cancelled
test_a_command_ends_with_its_stdin = (
    websockets.test_sv_24_a_command_reads_stdin_writes_stdout_and_ends_with_its_stdin
)
test_a_refused_command_is_the_error_of_its_status = websockets.test_a_refusal_is_the_error_of_its_status
test_ports_are_streams = websockets.test_ports_are_independent_streams
test_a_silent_handshake_times_out = websockets.test_a_websocket_whose_server_does_not_respond_times_out
test_a_silent_command_times_out = websockets.test_a_server_that_answers_no_ping_times_out
test_leaving_the_context_closes_a_websocket = (
    websockets.test_leaving_the_context_closes_the_websocket_normally
)
test_an_error_in_a_command_propagates = (
    websockets.test_an_error_of_the_caller_propagates_and_closes_the_connection
)
test_closing_ends_a_websocket = websockets.test_closing_the_transport_ends_a_websocket


# The wrappers


def authorized(transport_factory: Any) -> Any:
    """Wrap transports with empty credentials; the transport is created when it is needed."""

    def open_(connection: Connection) -> AuthorizedTransport:
        return AuthorizedTransport(Config(connection=connection, identity=Identity()), transport_factory)

    return open_


def blocking_authorized(transport_factory: Any) -> Any:
    """Wrap blocking transports with empty credentials."""

    def open_(connection: Connection) -> BlockingAuthorizedTransport:
        return BlockingAuthorizedTransport(
            Config(connection=connection, identity=Identity()), transport_factory
        )

    return open_


# Tests with many rows, or of a cancellation at every wait, run on one transport for each event loop.
LONG: Final = {
    "test_a_body_is_sent_with_its_length",
    "test_a_half_open_peer",
    "test_a_request_is_cancelled",
    "test_a_server_that_falls_silent",
    "test_what_cannot_stand_in_a_request",
}


def wrappers_of(test: str, rig: Rig) -> tuple[Wrapper, ...]:
    """Return the wrappers over this transport that a test runs with."""
    if not rig.is_async:
        return (blocking_authorized,) if rig.label == "httpx, blocking" else ()
    return (authorized,) if test not in LONG or rig.label in {"trio", "asyncio"} else ()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each wrapper over the transports for which it can make a difference and that support the tested
    feature.
    """
    if "rig" not in metafunc.fixturenames:
        return
    module = metafunc.function.__module__
    params = [
        pytest.param(rig.with_wrapper(wrapper), id=f"{wrapper.__name__}-{rig.label}", marks=rig.pytest_marks)
        for rig in ALL_RIGS
        for wrapper in wrappers_of(metafunc.definition.name, rig)
        if rig.is_async or module != cancellation.__name__
        if rig.has_websockets or module != websockets.__name__
    ]
    metafunc.parametrize("rig", params)
