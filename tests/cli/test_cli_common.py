"""The common parts of all commands: resource arguments, durations, colors, errors in a single line."""

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
from kubeproto_cli._command_errors import CommandFailed, explain_error, first_error
from kubeproto_cli._commands import Command
from kubeproto_cli._connecting import ConnectionOptions, connection_options, seconds, warnings_to_stderr
from kubeproto_cli._main import kubeproto
from kubeproto_cli._output import styled, use_color
from kubeproto_cli._watch import ResourceArgument, parse_resources

pytestmark = pytest.mark.one_python


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("pods", [ResourceArgument("pods")]),
        ("po web db", [ResourceArgument("po", ("web", "db"))]),
        ("pods,svc", [ResourceArgument("pods"), ResourceArgument("svc")]),
        ("pods,svc web", [ResourceArgument("pods", ("web",)), ResourceArgument("svc", ("web",))]),
        ("deploy/web po/db", [ResourceArgument("deploy", ("web",)), ResourceArgument("po", ("db",))]),
        ("deployments.v1.apps/web", [ResourceArgument("deployments.v1.apps", ("web",))]),
    ],
)
def test_resource_arguments_have_the_syntax_of_kubectl(
    arguments: str, expected: list[ResourceArgument]
) -> None:
    assert list(parse_resources(arguments.split())) == expected


@pytest.mark.parametrize("arguments", ["", "pods web/x", "po/", "/web", "po/a/b", "po,svc/a", "po,,svc"])
def test_malformed_resource_arguments_are_refused(arguments: str) -> None:
    with pytest.raises(click.UsageError, match="expected TYPE"):
        parse_resources(arguments.split())


@pytest.mark.parametrize(
    ("text", "expected_seconds"), [("30", 30.0), ("1.5", 1.5), ("1m30s", 90.0), ("500ms", 0.5), ("-1s", -1.0)]
)
def test_a_duration_is_a_go_duration_or_a_number_of_seconds(text: str, expected_seconds: float) -> None:
    assert seconds(text) == expected_seconds


def test_a_text_that_is_not_a_duration_is_refused() -> None:
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
def test_output_is_colored_on_a_terminal_unless_variables_forbid_it(
    stream: io.StringIO, environment: dict[str, str], color: bool
) -> None:
    assert use_color(stream, environment) is color
    assert styled("x", "31", color) == ("\x1b[31mx\x1b[0m" if color else "x")


def api_error(kind: type[ApiError], code: int) -> ApiError:
    return kind(Status(code=code, reason=kind.__name__, message="why"), request="GET /x")


@pytest.mark.parametrize(
    ("error", "expected_message"),
    [
        (
            ConnectError("refused"),
            "refused; check that the server runs, and that --context is the intended one",
        ),
        (DeadlineExceeded("late"), "late; allow more time: --request-timeout"),
        (api_error(Unauthorized, 401), "GET /x: 401 Unauthorized: why; log in again, or choose another"),
        (api_error(Forbidden, 403), "GET /x: 403 Forbidden: why; ask an administrator for this permission"),
        (api_error(NotFound, 404), "GET /x: 404 NotFound: why"),
        (ConfigError("there is no kubeconfig: …"), "there is no kubeconfig: …; choose one with --kubeconfig"),
        (ConfigError("of\ntwo lines"), "of two lines"),
        (InvalidManifest("bad", document=1, line=2), "bad"),
        (FileNotFoundError(2, "No such file or directory", "a.yaml"), "a.yaml: No such file or directory"),
        (ModuleNotFoundError("x", name="yaml"), "the module yaml is missing: pip install kubeproto[cli]"),
        (CommandFailed("it is so"), "it is so"),
    ],
)
def test_each_error_is_a_single_line_with_a_remedy(error: Exception, expected_message: str) -> None:
    explanation = explain_error(error)
    assert explanation is not None
    assert expected_message in explanation
    assert "\n" not in explanation


@pytest.mark.parametrize("error", [AssertionError("a"), TypeError("a"), KeyError("a"), KeyboardInterrupt()])
def test_a_bug_in_a_command_is_not_explained(error: BaseException) -> None:
    assert explain_error(error) is None


def test_a_group_is_reported_by_its_first_error_or_by_ctrl_c() -> None:
    inner = ConnectError("first")
    assert first_error(ExceptionGroup("", [ExceptionGroup("", [inner]), ValueError("second")])) is inner
    interrupt = KeyboardInterrupt()
    assert first_error(BaseExceptionGroup("", [inner, interrupt])) is interrupt
    assert first_error(inner) is inner


def exit_status_after(monkeypatch: pytest.MonkeyPatch, error: BaseException, **options: int) -> int:
    def fail() -> None:
        raise error

    command = Command("fail", callback=fail, failure_status=options.get("failure_status", 1))
    monkeypatch.setattr(kubeproto, "get_command", lambda ctx, name: command)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return main(["fail"])


def test_the_exit_status_is_that_of_the_error_or_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status_after(monkeypatch, ConfigError("a")) == 1
    assert exit_status_after(monkeypatch, ConfigError("a"), failure_status=2) == 2
    assert exit_status_after(monkeypatch, CommandFailed("a", status=3), failure_status=2) == 3
    assert exit_status_after(monkeypatch, ExceptionGroup("", [ConfigError("a")])) == 1
    assert exit_status_after(monkeypatch, BaseExceptionGroup("", [KeyboardInterrupt()])) == 130
    assert capsys.readouterr().err == "kubeproto fail: a\n" * 4


def test_warnings_go_to_standard_error_while_a_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("kubeproto")
    previous_settings = (list(log.handlers), log.propagate)
    with warnings_to_stderr():
        log.getChild("client").warning("a deprecated\nversion")
        log.getChild("client").info("not this")
    assert capsys.readouterr().err == "Warning: a deprecated version\n"
    assert (list(log.handlers), log.propagate) == previous_settings


def test_connection_options_are_passed_as_a_single_argument() -> None:
    @click.command(cls=Command)
    @click.option("--own")
    @connection_options(all_namespaces=True)
    def show_options(**parsed_options: object) -> dict[str, object]:
        """Return the parsed options."""
        return parsed_options

    arguments = [
        "-n",
        "a",
        "--context",
        "c",
        "--as",
        "ann",
        "--as-group",
        "g",
        "--as-group",
        "h",
        "--own",
        "x",
    ]
    parsed_options = show_options.main([*arguments, "--request-timeout", "5s"], standalone_mode=False)
    assert parsed_options == {
        "own": "x",
        "connection": ConnectionOptions(
            namespace="a", context="c", impersonated="ann", groups=("g", "h"), request_timeout=5.0
        ),
    }
    assert parsed_options["connection"].scope == "a"
    order = [param.opts[0] for param in show_options.params]
    assert order[:3] == ["--own", "--namespace", "--all-namespaces"]
