"""Runs that were kept: compared with each other, and made into a report."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_benchmark_rows import always, row, run

from benchmarks import __main__ as command
from benchmarks._measure import Contest, Standing
from benchmarks._results import Outcome, Run, load


def outcome(name: str, ours: float, span: tuple[float, float], ratio: Standing | None = None) -> Outcome:
    return Outcome(
        name=name, says=f"what {name} does", unit="s", more_is_better=False, ours=ours, span=span,
        baseline=ratio,
    )  # fmt: skip


def kept(*rows: Outcome) -> Run:
    return Run(began="2026-01-01 00:00 UTC", quick=False, machine={"cores": "2"}, versions={}, rows=rows)


def said(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = command.main(arguments, (), out, err)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (outcome("a", 2.0, (1.9, 2.1)), outcome("a", 1.0, (0.9, 1.1)), "2  better, s, by figure"),
        (outcome("a", 1.0, (0.9, 1.1)), outcome("a", 2.0, (1.9, 2.1)), "0.5  WORSE, s, by figure"),
        (outcome("a", 1.0, (0.9, 1.3)), outcome("a", 1.2, (1.1, 1.4)), "within the noise, s, by figure"),
        (
            # The machine is half as fast, for the baseline too: nothing has changed.
            outcome("a", 1.0, (0.9, 1.1), Standing(5.0, 5.0, (4.8, 5.2))),
            outcome("a", 2.0, (1.9, 2.1), Standing(10.0, 5.0, (4.9, 5.1))),
            "1  within the noise, s, by ratio",
        ),
    ],
)
def test_a_change_is_one_beyond_what_the_rounds_differ(
    before: Outcome, after: Outcome, verdict: str, tmp_path: Path
) -> None:
    kept(before).save(tmp_path / "before.json")
    kept(after).save(tmp_path / "after.json")
    code, text, _ = said("compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    assert code == 0
    assert text.splitlines()[1].endswith(verdict)


def test_a_row_of_one_run_alone_is_said(tmp_path: Path) -> None:
    kept(outcome("a", 1.0, (1.0, 1.0))).save(tmp_path / "before.json")
    kept(outcome("b", 1.0, (1.0, 1.0))).save(tmp_path / "after.json")
    _, text, _ = said("compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    assert [line.split()[:4] for line in text.splitlines()[1:3]] == [
        ["a", "measured", "before", "alone"],
        ["b", "measured", "after", "alone"],
    ]


@pytest.mark.parametrize("arguments", [("compare", "one.json"), ("report",)])
def test_too_few_files_are_a_mistake_that_says_the_usage(arguments: tuple[str, ...]) -> None:
    code, _, text = said(*arguments)
    assert code == 2
    assert text.startswith(f"usage: python -m benchmarks {arguments[0]} ")


def test_a_file_without_results_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    code, _, text = said("report", str(tmp_path / "x.json"))
    assert code == 2
    assert "x.json is not a file of results" in text


def test_all_rows_are_measured_and_kept_with_the_machine(tmp_path: Path) -> None:
    rows = (row("decode.x", Contest(ours=always(2.0), baseline=always(4.0))), row("list.y"))
    code, _, _ = run("all", "--json", "--save", str(tmp_path / "run.json"), rows=rows)
    assert code == 0
    found = load(tmp_path / "run.json")
    [measured] = found.rows
    assert (measured.name, measured.ours, measured.group) == ("decode.x", 2.0, "decode")
    assert measured.baseline == Standing(4.0, 2.0, (2.0, 2.0))
    assert set(found.machine) == {"processor", "cores", "memory", "system", "python"}
    assert found.versions["msgspec"]
    assert found.versions["kopf"]


def test_a_report_has_tables_a_page_that_needs_nothing_else_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "REPORT", tmp_path / "report")
    faster = Standing(4.0, 2.0, (1.9, 2.1))
    peers = Outcome(
        name="controller.throughput", says="empty reconciles <b>", unit="1/s", more_is_better=True,
        ours=9000.0, span=(1.0, 2.0), peers={"kopf": Standing(1000.0, 9.0, (8.0, 9.5)), "kr8s": None},
        goal="ratio ≥ 2", met=True,
    )  # fmt: skip
    kept(outcome("decode.pods.metadata", 2.0, (1.9, 2.1), faster), peers).save(tmp_path / "run.json")
    code, text, _ = said("report", str(tmp_path / "run.json"))
    assert code == 0
    files = {Path(line).name for line in text.splitlines()}
    assert files == {"README.md", "index.html", "decode.svg", "controller.svg"}
    written = (tmp_path / "report/README.md").read_text()
    assert (
        "| `controller.throughput` empty reconciles <b> | 9,000 1/s | kopf | 1,000 | 9 | 8 to 9.5 |"
        in written
    )
    assert "|  |  | kr8s | not measured |  |  |" in written
    html = (tmp_path / "report/index.html").read_text()
    assert "Goal: ratio ≥ 2; met." in html
    assert "<b>" not in html
    assert not re.search(r"(?:src|href)=|url\(|@import", html)  # nothing is fetched
    picture = ElementTree.fromstring((tmp_path / "report/controller.svg").read_text())
    widths = [float(bar.get("width", "")) for bar in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths[0] == pytest.approx(9 * widths[1], rel=0.01)


def test_a_picture_of_a_row_that_was_not_measured_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "REPORT", tmp_path / "report")
    kept(outcome("decode.pods.metadata", 2.0, (1.9, 2.1))).save(tmp_path / "run.json")
    said("report", str(tmp_path / "run.json"))
    linked = re.findall(r"\]\((.+\.svg)\)", (tmp_path / "report/README.md").read_text())
    assert linked == ["decode.svg"]
