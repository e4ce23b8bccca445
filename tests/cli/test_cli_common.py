"""What all commands share: resources, durations, colours, errors of one line with what to do."""

from __future__ import annotations

import io
import logging

import click
import pytest

from kubeproto import (
    ApiError,
    ConnectError,
    DeadlineExceeded,
    Forbidden,
    InvalidManifest,
    NotFound,
    Status,
    Unauthorized,
)
from kubeproto.config import ConfigError
from kubeproto_cli import main
from kubeproto_cli._commands import Command
from kubeproto_cli._connecting import ConnectionOptions, connection_options, seconds, warnings_to_stderr
from kubeproto_cli._errors import CommandFailed, explain_error, first_error
from kubeproto_cli._main import kubeproto
from kubeproto_cli._output import styled, use_color
from kubeproto_cli._watch import ResourceArgument, parse_resources

pytestmark = pytest.mark.one_python


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("pods", [ResourceArgument("pods")]),
        ("po web db", [ResourceArgument("po", ("web", "db"))]),
        ("pods,svc", [ResourceArgument("pods"), ResourceArgument("svc")]),
        ("pods,svc web", [ResourceArgument("pods", ("web",)), ResourceArgument("svc", ("web",))]),
        ("deploy/web po/db", [ResourceArgument("deploy", ("web",)), ResourceArgument("po", ("db",))]),
        ("deployments.v1.apps/web", [ResourceArgument("deployments.v1.apps", ("web",))]),
    ],
)
def test_the_arguments_are_read_as_kubectl_reads_them(words: str, wanted: list[ResourceArgument]) -> None:
    assert list(parse_resources(words.split())) == wanted


@pytest.mark.parametrize("words", ["", "pods web/x", "po/", "/web", "po/a/b", "po,svc/a", "po,,svc"])
def test_arguments_that_can_be_meant_in_no_way_are_refused(words: str) -> None:
    with pytest.raises(click.UsageError, match="expected TYPE"):
        parse_resources(words.split())


@pytest.mark.parametrize(
    ("text", "length"), [("30", 30.0), ("1.5", 1.5), ("1m30s", 90.0), ("500ms", 0.5), ("-1s", -1.0)]
)
def test_a_duration_is_one_of_go_or_seconds(text: str, length: float) -> None:
    assert seconds(text) == length


def test_no_duration_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="'soon' is not a duration"):
        seconds("soon")


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "color"),
    [
        (_Tty(), {}, True),
        (_Tty(), {"NO_COLOR": "1"}, False),
        (_Tty(), {"NO_COLOR": ""}, True),
        (_Tty(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_terminal_is_colored_unless_that_is_forbidden(
    stream: io.StringIO, environment: dict[str, str], color: bool
) -> None:
    assert use_color(stream, environment) is color
    assert styled("x", "31", color) == ("\x1b[31mx\x1b[0m" if color else "x")


def refused(kind: type[ApiError], code: int) -> ApiError:
    return kind(Status(code=code, reason=kind.__name__, message="why"), request="GET /x")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ConnectError("refused"),
            "refused; check that the server runs, and that --context is the intended one",
        ),
        (DeadlineExceeded("late"), "late; allow more time: --request-timeout"),
        (refused(Unauthorized, 401), "GET /x: 401 Unauthorized: why; log in again, or choose another"),
        (refused(Forbidden, 403), "GET /x: 403 Forbidden: why; ask an administrator for this permission"),
        (refused(NotFound, 404), "GET /x: 404 NotFound: why"),
        (ConfigError("there is no kubeconfig: …"), "there is no kubeconfig: …; choose one with --kubeconfig"),
        (ConfigError("of\ntwo lines"), "of two lines"),
        (InvalidManifest("bad", document=1, line=2), "bad"),
        (FileNotFoundError(2, "No such file or directory", "a.yaml"), "a.yaml: No such file or directory"),
        (ModuleNotFoundError("x", name="yaml"), "the module yaml is missing: pip install kubeproto[cli]"),
        (CommandFailed("it is so"), "it is so"),
    ],
)
def test_each_error_is_one_line_with_what_to_do(error: Exception, line: str) -> None:
    told = explain_error(error)
    assert told is not None
    assert line in told
    assert "\n" not in told


@pytest.mark.parametrize("error", [AssertionError("a"), TypeError("a"), KeyError("a"), KeyboardInterrupt()])
def test_a_mistake_of_the_program_is_none_of_them(error: BaseException) -> None:
    assert explain_error(error) is None


def test_of_a_group_of_errors_one_counts_and_ctrl_c_before_all() -> None:
    inner = ConnectError("first")
    assert first_error(ExceptionGroup("", [ExceptionGroup("", [inner]), ValueError("second")])) is inner
    stop = KeyboardInterrupt()
    assert first_error(BaseExceptionGroup("", [inner, stop])) is stop
    assert first_error(inner) is inner


def ended_with(monkeypatch: pytest.MonkeyPatch, error: BaseException, **options: int) -> int:
    def fail() -> None:
        raise error

    command = Command("fail", callback=fail, failure_status=options.get("failure_status", 1))
    monkeypatch.setattr(kubeproto, "get_command", lambda ctx, name: command)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return main(["fail"])


def test_an_error_ends_with_the_status_of_the_command_or_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_with(monkeypatch, ConfigError("a")) == 1
    assert ended_with(monkeypatch, ConfigError("a"), failure_status=2) == 2
    assert ended_with(monkeypatch, CommandFailed("a", status=3), failure_status=2) == 3
    assert ended_with(monkeypatch, ExceptionGroup("", [ConfigError("a")])) == 1
    assert ended_with(monkeypatch, BaseExceptionGroup("", [KeyboardInterrupt()])) == 130
    assert capsys.readouterr().err == "kubeproto fail: a\n" * 4


def test_warnings_go_to_standard_error_while_a_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("kubeproto")
    before = (list(log.handlers), log.propagate)
    with warnings_to_stderr():
        log.getChild("client").warning("a deprecated\nversion")
        log.getChild("client").info("not this")
    assert capsys.readouterr().err == "Warning: a deprecated version\n"
    assert (list(log.handlers), log.propagate) == before


def test_the_options_of_a_connection_become_one_argument() -> None:
    @click.command(cls=Command)
    @click.option("--own")
    @connection_options(all_namespaces=True)
    def called(**given: object) -> dict[str, object]:
        """Do it."""
        return given

    words = ["-n", "a", "--context", "c", "--as", "ann", "--as-group", "g", "--as-group", "h", "--own", "x"]
    given = called.main([*words, "--request-timeout", "5s"], standalone_mode=False)
    assert given == {
        "own": "x",
        "connection": ConnectionOptions(
            namespace="a", context="c", impersonated="ann", groups=("g", "h"), request_timeout=5.0
        ),
    }
    assert given["connection"].scope == "a"
    order = [param.opts[0] for param in called.params]
    assert order[:3] == ["--own", "--namespace", "--all-namespaces"]
