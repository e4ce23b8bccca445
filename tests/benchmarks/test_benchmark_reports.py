"""Saved runs are compared, and become a report."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from test_benchmark_rows import always, row, run

from benchmarks import __main__ as command
from benchmarks._charts import bars, curves
from benchmarks._measure import Comparison, Contest
from benchmarks._page import draw_curves, further_figures, share, write_report
from benchmarks._pictures import draw_pictures
from benchmarks._results import Outcome, Run, load
from benchmarks._verdicts import missed_goals, worse_rows

SVG = "{http://www.w3.org/2000/svg}"


def outcome(name: str, ours: float, span: tuple[float, float], ratio: Comparison | None = None) -> Outcome:
    return Outcome(
        name=name, summary=f"what {name} does", unit="s", more_is_better=False, ours=ours, span=span,
        baseline=ratio,
    )  # fmt: skip


def run_of(*rows: Outcome) -> Run:
    return Run(started="2026-01-01 00:00 UTC", quick=False, machine={"cores": "2"}, versions={}, rows=rows)


def run_command(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = command.main(arguments, (), out, err)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (outcome("a", 2.0, (1.9, 2.1)), outcome("a", 1.0, (0.9, 1.1)), "2  better, s, by figure"),
        (outcome("a", 1.0, (0.9, 1.1)), outcome("a", 2.0, (1.9, 2.1)), "0.5  WORSE, s, by figure"),
        (outcome("a", 1.0, (0.9, 1.3)), outcome("a", 1.2, (1.1, 1.4)), "within the noise, s, by figure"),
        (
            # The machine is half as fast, also for the baseline: nothing has changed.
            outcome("a", 1.0, (0.9, 1.1), Comparison(5.0, 5.0, (4.8, 5.2))),
            outcome("a", 2.0, (1.9, 2.1), Comparison(10.0, 5.0, (4.9, 5.1))),
            "1  within the noise, s, by ratio",
        ),
        (outcome("a", 0.0, (0.0, 0.0)), outcome("a", 0.0, (0.0, 0.0)), "1  within the noise, s, by figure"),
        (outcome("a", 2.0, (1.0, 2.0)), outcome("a", 0.0, (0.0, 0.0)), "inf  better, s, by figure"),
        (outcome("a", 0.0, (0.0, 0.0)), outcome("a", 2.0, (1.0, 2.0)), "0  WORSE, s, by figure"),
    ],
)
def test_a_change_exceeds_the_differences_between_rounds(
    old: Outcome, new: Outcome, verdict: str, tmp_path: Path
) -> None:
    run_of(old).save(tmp_path / "before.json")
    run_of(new).save(tmp_path / "after.json")
    code, text, _ = run_command("compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    assert code == 0
    assert text.splitlines()[1].endswith(verdict)


def test_a_row_that_only_a_single_run_contains_is_reported(tmp_path: Path) -> None:
    run_of(outcome("a", 1.0, (1.0, 1.0))).save(tmp_path / "before.json")
    run_of(outcome("b", 1.0, (1.0, 1.0))).save(tmp_path / "after.json")
    _, text, _ = run_command("compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    assert [line.split()[:4] for line in text.splitlines()[1:3]] == [
        ["a", "measured", "before", "alone"],
        ["b", "measured", "after", "alone"],
    ]


@pytest.mark.parametrize("arguments", [("compare", "one.json"), ("report",)])
def test_too_few_files_are_an_error_that_prints_the_usage(arguments: tuple[str, ...]) -> None:
    code, _, text = run_command(*arguments)
    assert code == 2
    assert text.startswith(f"usage: python -m benchmarks {arguments[0]} ")


def test_a_file_without_results_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    code, _, text = run_command("report", str(tmp_path / "x.json"))
    assert code == 2
    assert "x.json is not a file of results" in text


def test_all_rows_are_measured_and_stored_with_the_machine(tmp_path: Path) -> None:
    rows = (row("decode.x", Contest(ours=always(2.0), baseline=always(4.0))), row("list.y"))
    code, _, _ = run("all", "--json", "--save", str(tmp_path / "run.json"), rows=rows)
    assert code == 0
    saved = load(tmp_path / "run.json")
    [measured] = saved.rows
    assert (measured.name, measured.ours, measured.group) == ("decode.x", 2.0, "decode")
    assert measured.baseline == Comparison(4.0, 2.0, (2.0, 2.0))
    assert set(saved.machine) == {"processor", "cores", "memory", "system", "python"}
    assert saved.versions["msgspec"]
    assert saved.versions["kopf"]


def test_a_report_has_tables_a_self_contained_page_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "REPORT", tmp_path / "report")
    faster = Comparison(4.0, 2.0, (1.9, 2.1))
    peers = Outcome(
        name="controller.throughput", summary="empty reconciles <b>", unit="1/s", more_is_better=True,
        ours=9000.0, span=(1.0, 2.0), peers={"kopf": Comparison(1000.0, 9.0, (8.0, 9.5)), "kr8s": None},
        goal="ratio ≥ 2", met=True,
    )  # fmt: skip
    decoded = [
        msgspec.structs.replace(outcome(f"decode.pods.{depth}", 2.0, (1.9, 2.1), faster), more_is_better=True)
        for depth in ("metadata", "view", "typed")
    ]
    run_of(*decoded, peers).save(tmp_path / "run.json")
    code, text, _ = run_command("report", str(tmp_path / "run.json"))
    assert code == 0
    files = {Path(line).name for line in text.splitlines()}
    assert files == {"README.md", "index.html", "decode.svg", "controller.svg"}
    written = (tmp_path / "report/README.md").read_text()
    assert (
        "| `controller.throughput` empty reconciles <b> | 9,000 1/s | kopf | 1,000 | 9 | 8 to 9.5"
        " | 2026-01-01 00:00 UTC |" in written
    )
    assert "|  |  | kr8s | not measured |  |  |  |" in written
    html = (tmp_path / "report/index.html").read_text()
    assert "Goal: ratio ≥ 2; met. Measured 2026-01-01 00:00 UTC." in html
    assert "<b>" not in html
    assert not re.search(r"(?:src|href)=|url\(|@import", html)  # nothing is fetched
    picture = ElementTree.fromstring((tmp_path / "report/controller.svg").read_text())
    widths = [float(bar.get("width", "")) for bar in picture.iter(f"{SVG}rect")]
    assert widths[0] == pytest.approx(9 * widths[1], rel=0.01)


def test_a_picture_of_a_row_that_was_not_measured_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "REPORT", tmp_path / "report")
    rows = [outcome(name, 2.0, (1.9, 2.1)) for name in ("decode.pods.view", "controller.throughput")]
    run_of(*rows).save(tmp_path / "run.json")
    run_command("report", str(tmp_path / "run.json"))
    linked = re.findall(r"\]\((.+\.svg)\)", (tmp_path / "report/README.md").read_text())
    assert linked == ["controller.svg"]


def test_the_picture_of_decoding_has_each_of_our_depths_and_the_others_of_the_typed_row() -> None:
    metadata, view, typed = (
        msgspec.structs.replace(outcome(f"decode.pods.{depth}", figure, (1, 1)), more_is_better=True)
        for depth, figure in (("metadata", 900.0), ("view", 800.0), ("typed", 100.0))
    )
    others = {"kr8s": Comparison(2.0, 50.0, None), "kube-rs": Comparison(300.0, 0.3, None), "kubesdk": None}
    typed = msgspec.structs.replace(
        typed, against="json.loads a line", baseline=Comparison(40.0, 2.5, None), peers=others
    )
    picture, _ = draw_pictures(run_of(metadata, view, typed))["decode"]
    texts = [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert texts[2::2] == [
        *("kubeproto, metadata alone", "kubeproto, typed when used", "kubeproto, every field typed"),
        *("kube-rs", "json.loads (dicts)", "kr8s (dicts)"),
    ]
    assert texts[3::2] == ["900", "800", "100", "300", "40", "2"]


def test_no_text_of_a_picture_is_cut_however_long_it_is() -> None:
    name, title = "the imports that such a program needs in a process", "from an event on its way " * 12
    for picture in (
        bars(title, title, [("kubeproto", 1.0)], [(name, 2.0)]),
        curves(title, title, {"kubeproto": [("10 %", 1.0), ("99 %", 30.0)]}, log=True),
    ):
        root = ElementTree.fromstring(picture)
        width, height = (float(side) for side in root.get("viewBox", "").split()[2:])
        words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
        assert words.count("from an event on its way") == 24
        for element in root.iter(f"{SVG}text"):
            assert float(element.get("y", "")) <= height
            room = width if element.get("text-anchor") is None else float(element.get("x", ""))
            if element.get("text-anchor") != "middle":
                assert len(element.text or "") * 6 <= room


def test_the_axis_of_a_curve_has_its_marks_where_its_figures_are() -> None:
    latencies = curves("how long", "ms", {"ours": [("50 %", 0.2), ("99 %", 20.0)]}, log=True)
    assert tick_positions(latencies) == {"0.1": 200, "1": 133, "10": 67, "100": 0}
    memory = curves("how much", "MB", {"ours": [("1", 10.0), ("2", 40.0)]}, log=False)
    assert tick_positions(memory) == {"0": 200, "20": 100, "40": 0}


def tick_positions(svg: str) -> dict[str, int]:
    """Return the labels of the axis, and their distance from its upper end."""
    texts = [
        element
        for element in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if element.get("text-anchor") == "end"
    ]
    highest = min(float(element.get("y", "")) for element in texts)
    return {element.text or "": round(float(element.get("y", "")) - highest) for element in texts}


def test_a_report_begins_with_missed_goals(tmp_path: Path) -> None:
    slow = msgspec.structs.replace(
        outcome("a.slow", 2.0, (2, 2), Comparison(1.0, 0.5, None)),
        against="lightkube",
        goal="ratio ≥ 3 (at least)",
        met=False,
        peers={"kopf": Comparison(9.0, 4.5, None), "kube-rs": Comparison(1.5, 0.75, None), "kr8s": None},
    )
    heavy = msgspec.structs.replace(outcome("b.heavy", 60.0, (60, 60)), goal="ours ≤ 50", met=False)
    late = msgspec.structs.replace(
        outcome("c.late", 3.0, (3, 3)),
        goal="kube-rs ≥ 1",
        met=False,
        peers={"kube-rs": Comparison(2.4, 0.8, None)},
    )
    fast = msgspec.structs.replace(
        outcome("d.fast", 1.0, (1, 1), Comparison(9.0, 9.0, None)), goal="ratio ≥ 3", met=True
    )
    run = run_of(late, slow, heavy, fast)
    assert worse_rows(run) == ["`a.slow`: lightkube 0.5, kube-rs 0.75", "`c.late`: kube-rs 0.8"]
    assert missed_goals(run) == [
        "`a.slow`: 0.5, and the goal is ratio ≥ 3 (at least)",
        "`b.heavy`: 60, and the goal is ours ≤ 50",
        "`c.late`: 0.8, and the goal is kube-rs ≥ 1",
    ]
    write_report(run, tmp_path)
    for file in ("README.md", "index.html"):
        written = (tmp_path / file).read_text()
        assert written.count("lightkube 0.5, kube-rs 0.75") == 1
        assert written.count("60, and the goal is ours ≤ 50") == 1
    write_report(run_of(fast), tmp_path)
    assert "missed" not in (tmp_path / "README.md").read_text()


def test_a_row_without_contenders_has_no_chart_and_prints_its_figure(tmp_path: Path) -> None:
    write_report(run_of(outcome("cache.x", 2.0, (1.9, 2.1))), tmp_path)
    html = (tmp_path / "index.html").read_text()
    assert "<svg" not in html
    assert "<p>what cache.x does: <strong>2 s</strong>." in html


def measured(also: dict[str, dict[str, float | None]], **fields: object) -> Outcome:
    measured_row = Outcome(
        name="controller.latency.p99",
        summary="how long",
        unit="ms",
        more_is_better=False,
        ours=1.0,
        span=(1, 1),
    )
    return msgspec.structs.replace(measured_row, also=also, **fields)


def lines_in(svg: str) -> list[list[tuple[float, float]]]:
    polylines = re.findall(r'<polyline points="([^"]+)"', svg)
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())] for line in polylines
    ]


def test_latencies_are_drawn_as_a_curve_for_each_contender() -> None:
    row = measured(
        {"latency of 50 %": {"ours": 1.0, "kopf": 100.0}, "latency of 99 %": {"ours": 10.0, "kopf": 1000.0}}
    )
    [picture] = draw_curves(row)
    ElementTree.fromstring(picture)
    ours, kopf = lines_in(picture)
    # On a logarithmic scale each figure is ten times the previous figure, and all three steps have the same
    # height.
    heights = [ours[0][1], ours[1][1], kopf[0][1], kopf[1][1]]
    assert [a - b for a, b in itertools.pairwise(heights)] == pytest.approx([200 / 3] * 3, abs=0.2)
    assert "kopf: 100 to 1,000" in picture
    assert further_figures(row) == []


def test_growth_is_drawn_over_the_number_of_objects() -> None:
    row = measured({"growth in MB": {"100000": 100.0, "1000000": 1000.0}})
    [picture] = draw_curves(row)
    assert "100,000" in picture
    [[(_, low), (_, high)]] = lines_in(picture)
    assert (low - high) == pytest.approx(180, abs=0.2)  # nine tenths of the height, from zero


def test_figures_without_a_chart_are_printed(tmp_path: Path) -> None:
    row = measured({"µs of CPU an event": {"ours": 12.0, "kopf": None}})
    assert further_figures(row) == ["µs of CPU an event: ours 12"]
    files = write_report(run_of(row), tmp_path)
    for file in files:
        assert "µs of CPU an event: ours 12" in file.read_text()


def test_a_figure_reads_as_a_share_of_its_limit() -> None:
    limit = msgspec.structs.replace(outcome("limits.msgspec", 200.0, (1, 1)), more_is_better=True)
    ours = msgspec.structs.replace(
        outcome("decode", 50.0, (1, 1)), more_is_better=True, limit="limits.msgspec"
    )
    assert share(run_of(ours, limit), ours) == " (25 % of `limits.msgspec`)"
    assert share(run_of(ours), ours) == ""


def test_a_run_prints_the_duration_of_its_groups() -> None:
    out, err = io.StringIO(), io.StringIO()
    assert (
        command.main(
            ["all"],
            (row("a.one", Contest(ours=always(1.0))), row("b.two", Contest(ours=always(1.0)))),
            out,
            err,
        )
        == 0
    )
    assert re.search(r"^\d+ s in all: a \d+ s, b \d+ s$", err.getvalue(), re.MULTILINE)


def test_a_row_that_is_measured_once_has_one_round(tmp_path: Path) -> None:
    rounds: list[float] = []

    def probe() -> float:
        rounds.append(2.0)
        return 2.0

    once = msgspec.structs.replace(row("a.one", Contest(ours=probe)), once=True)
    command.main(["a.one", "--save", str(tmp_path / "run.json")], (once,), io.StringIO(), io.StringIO())
    assert rounds == [2.0]
    assert load(tmp_path / "run.json").rows[0].ours == 2.0
