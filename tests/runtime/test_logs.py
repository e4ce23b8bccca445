"""Lines for people and lines of JSON say which object they are about, and which run wrote them."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Generator
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import use_span

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, requeue
from kubeproto_runtime import Context, Controller, Operator, logs
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Book(kp.KubeObject, group="logs.test", version="v1", plural="books"):
    """A book."""


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(params=[logs.JsonFormatter, logs.TextFormatter])
def handler(request: pytest.FixtureRequest, stream: io.StringIO) -> Generator[logging.Handler]:
    """What is logged goes to the stream, by one of the two."""
    found = logging.StreamHandler(stream)
    found.setFormatter(request.param())
    logger = logging.getLogger("kubeproto.controller.book")
    logger.addHandler(found)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield found
    logger.setLevel(before)
    logger.removeHandler(found)


def record(text: str = "done", *args: object, **facts: Any) -> logging.LogRecord:
    made = logging.makeLogRecord(
        {"name": "shop", "levelname": "INFO", "levelno": 20, "msg": text, "args": args, "created": 1.5}
    )
    vars(made).update(facts)
    return made


def line_of(made: logging.LogRecord) -> dict[str, Any]:
    text = logs.JsonFormatter().format(made)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_lines_of_a_run_name_its_object_and_have_its_id(
    backend: Backend, handler: logging.Handler, stream: io.StringIO
) -> None:
    ids: list[str] = []

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            await client.create(Book(metadata=kp.ObjectMeta(name="moby")))

            async def reconcile(book: Book, ctx: Context[None]) -> Action:
                ctx.logger.info("read %d pages", 7)
                ctx.logger.info("closed", extra={"shelf": "A 1"})
                ids.append(ctx.reconcile_id)
                if len(ids) == 2:
                    raise ValueError("torn")
                return requeue(after=60)

            operator = Operator()
            client.start(operator.run(Controller(client, Book).run(reconcile)))
            await anyio.sleep(61)

    run(main, backend=backend)
    first, second = ids[:2]
    assert first != second
    lines = [line for line in stream.getvalue().splitlines() if "moby" in line]  # not of the cache
    if isinstance(handler.formatter, logs.JsonFormatter):
        read, closed, again, _, failed = map(json.loads, lines[:5])
        assert read["message"] == "Book.logs.test default/moby: read 7 pages"
        assert read["object"] == {
            "group": "logs.test",
            "kind": "Book",
            "namespace": "default",
            "name": "moby",
        }
        assert (read["reason"], read["attempt"], read["level"]) == ("Book listed", 1, "INFO")
        assert (closed["shelf"], closed["reconcile_id"]) == ("A 1", first)
        assert [read["reconcile_id"], again["reconcile_id"], failed["reconcile_id"]] == [
            first,
            second,
            second,
        ]
        assert "ValueError: torn" in failed["exception"]
    else:
        text = "INFO    kubeproto.controller.book: Book.logs.test default/moby: read 7 pages"
        assert f'{text}  reason="Book listed" attempt=1 reconcile_id={first}' in lines[0]
        assert lines[1].endswith(f'reconcile_id={first} shelf="A 1"')
        assert "ValueError: torn" in stream.getvalue()


def test_a_record_is_a_line_of_json() -> None:
    assert line_of(record("read %d", 7, pages=3, of={"a": (1, None)}, bad=float("inf"), message="x")) == {
        "time": "1970-01-01T00:00:01.500Z", "level": "INFO", "logger": "shop", "message": "read 7",
        "pages": 3, "of": {"a": [1, None]}, "bad": "inf",
    }  # fmt: skip


def test_what_json_has_no_form_for_is_written_as_text() -> None:
    line = line_of(record("two\nlines", what={1}, raw=b"\xff", level="mine", broken="\ud800"))
    assert (line["message"], line["what"], line["raw"], line["level"]) == (
        "two\nlines",
        "{1}",
        "b'\\xff'",
        "INFO",
    )
    assert line["broken"] == "?"


def test_a_traceback_and_a_stack_are_part_of_the_line() -> None:
    try:
        raise ValueError("torn")
    except ValueError:
        made = record(exc_info=sys.exc_info(), stack_info="where")
    line = line_of(made)
    assert line["exception"].endswith("ValueError: torn")
    assert line["stack"] == "where"
    text = logs.TextFormatter().format(made)
    assert text.splitlines()[0] == "1970-01-01T00:00:01.500Z INFO    shop: done"
    assert text.endswith("ValueError: torn\nwhere")


def test_a_message_of_several_lines_stays_recognizable_for_people() -> None:
    assert logs.TextFormatter().format(record("a\nb", empty="")).endswith('shop: a\n    b  empty=""')


def test_a_line_within_a_span_carries_its_ids() -> None:
    span = TracerProvider().get_tracer("test").start_span("work")
    with use_span(span, end_on_exit=True):
        line = line_of(record())
    context = span.get_span_context()
    assert (int(line["trace_id"], 16), int(line["span_id"], 16)) == (context.trace_id, context.span_id)
    assert "trace_id" not in line_of(record())


def test_without_opentelemetry_lines_have_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    assert line_of(record())["message"] == "done"
