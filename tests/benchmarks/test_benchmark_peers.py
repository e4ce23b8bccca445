"""Peers: their environments, the talk with their processes, and the baselines that they stand beside."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from benchmarks._measure import Absent
from benchmarks._peers import PINS, PeerProcess, Peers
from benchmarks._rows import Setting
from benchmarks.rows import decode
from benchmarks.rows.imports import FreshImport

COUNTING = """
from benchmarks.peers._serve import serve

def prepare(options):
    if "fail" in options:
        raise OSError(options["fail"])
    print("this is not an answer")
    return lambda: sum(1 for _ in range(options["events"]))

serve(prepare)
"""
SILENT = "import sys; sys.stdin.read()"


def peer(script: str, **options: object) -> PeerProcess:
    return PeerProcess([sys.executable, "-c", script], options, patience=20)


def test_a_peer_gives_the_seconds_of_each_round_that_is_asked_for() -> None:
    with closing(peer(COUNTING, events=100)) as process:
        assert all(0 < process.round(100) < 1 for _ in range(2))


def test_a_peer_that_met_other_events_is_not_compared() -> None:
    with closing(peer(COUNTING, events=99)) as process, pytest.raises(Absent, match="met 99 events, not 100"):
        process.round(100)


def test_a_peer_that_cannot_start_says_why() -> None:
    with pytest.raises(Absent, match="OSError: no models"):
        peer(COUNTING, fail="no models")


def test_a_peer_that_dies_is_absent() -> None:
    with pytest.raises(Absent, match="ended"):
        peer("raise SystemExit(3)")


def test_a_peer_that_hangs_is_absent() -> None:
    with pytest.raises(Absent, match="did not answer within 0 s"):
        PeerProcess([sys.executable, "-c", SILENT], {}, patience=0)


def test_an_environment_is_made_once_and_found_again(tmp_path: Path) -> None:
    (tmp_path / "nothing.txt").write_text("# nothing to install\n")
    said: list[str] = []
    cache = tmp_path / "cache"
    python = Peers(said.append, pins=tmp_path, cache=cache).python("nothing")
    assert python.exists()
    assert Peers(said.append, pins=tmp_path, cache=cache).python("nothing") == python
    assert len(said) == 1


def test_half_an_environment_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "nothing.txt").write_text("# nothing to install\n")
    said: list[str] = []
    python = Peers(said.append, pins=tmp_path, cache=tmp_path).python("nothing")
    (python.parent.parent / "ready").unlink()
    python.unlink()
    assert Peers(said.append, pins=tmp_path, cache=tmp_path).python("nothing").exists()
    assert len(said) == 2


def test_other_pins_are_another_environment(tmp_path: Path) -> None:
    def made(pins: str) -> Path:
        (tmp_path / "nothing.txt").write_text(pins)
        return Peers(lambda _: None, pins=tmp_path, cache=tmp_path).python("nothing")

    first, second = made("# one\n"), made("# two\n")
    assert first != second
    assert first.exists()


def test_a_failure_is_told_and_remembered_until_the_pins_are_mended(tmp_path: Path) -> None:
    (tmp_path / "broken.txt").write_text("./no-such-file.whl\n")
    said: list[str] = []
    peers = Peers(said.append, pins=tmp_path, cache=tmp_path)
    for _ in range(2):
        with pytest.raises(Absent, match=r"environment of broken could not be made: .*no-such-file"):
            peers.python("broken")
    assert len(said) == 1
    (tmp_path / "broken.txt").write_text("# mended\n")
    assert Peers(said.append, pins=tmp_path, cache=tmp_path).python("broken").exists()


def test_every_version_of_every_peer_is_pinned() -> None:
    pinned = {path.stem: path.read_text().splitlines() for path in PINS.glob("*.txt")}
    assert {"lightkube", "kubernetes"} <= set(pinned)
    for name, lines in pinned.items():
        wanted = [line for line in lines if not line.startswith("#")]
        for one in name.split("_"):  # kopf_kr8s.txt is for both together
            assert any(line.startswith(f"{one}==") for line in wanted)
        assert all(line.count("==") == 1 and "*" not in line for line in wanted)


def test_an_import_is_timed_in_a_fresh_interpreter() -> None:
    probe = FreshImport(Path(sys.executable), "json")
    assert 0 < probe() < 10
    resident = probe.resident()
    assert resident is None or 1 < resident < 1000


def test_a_module_that_cannot_be_imported_is_absent() -> None:
    with pytest.raises(Absent, match="No module named 'kubeproto_of_another_house'"):
        FreshImport(Path(sys.executable), "kubeproto_of_another_house")()


def cut_lines(pieces: Sequence[bytes]) -> int:
    return len(b"".join(pieces).splitlines())


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    (tmp_path / "lightkube.txt").write_text("./no-such-file.whl\n")
    peers = Peers(lambda _: None, pins=tmp_path, cache=tmp_path / "cache")
    with ExitStack() as stack:
        yield Setting(quick=True, peers=peers, stack=stack)


@pytest.mark.parametrize("kind", ["pods", "crs"])
def test_a_decode_row_measures_whoever_meets_every_event(setting: Setting, kind: decode.Kind) -> None:
    contest = decode.watch(setting, kind, cut_lines)
    assert contest.baseline is not None
    assert contest.ours() > 0
    assert contest.baseline() > 0
    with pytest.raises(Absent, match="lightkube"):
        contest.peers["lightkube"]()


def test_a_decode_row_refuses_a_run_that_misses_an_event(setting: Setting) -> None:
    with pytest.raises(ValueError, match=r"met \d+ events, not \d+: its speed would mean nothing"):
        decode.watch(setting, "pods", lambda pieces: cut_lines(pieces) - 1)


@pytest.mark.parametrize("cut", [True, False])
def test_a_list_row_gives_the_page_whole_or_cut(setting: Setting, cut: bool) -> None:
    met: list[int] = []

    def read(pieces: Sequence[bytes]) -> int:
        met.append(len(pieces))
        return decode.json_page(b"".join(pieces))

    contest = decode.page(setting, read, cut=cut)
    assert contest.baseline is not None
    assert (met[0] > 1) is cut
