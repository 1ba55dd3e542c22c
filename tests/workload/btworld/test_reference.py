"""The reference is simple enough to be counted by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fawkes.base.errors import UserError
from fawkes.workload.btworld.reference import COLUMNS, compare, results, saved, scrapes
from tests.workload.btworld.support import made

A, B = "a" * 40, "b" * 40
LINES = f"""\
{A} http://t1 20111018T000000 10 5 7
{A} http://t1 20111018T000000 10 5 7
{A} http://t2 20111018T010000 0 1 7
{B} http://t1 20111018T020000 None None None
{B} http://t1 20111019T000000 3 0 1
{B} http://t1 2011
{A[:30]}
"""


@pytest.fixture
def raw(tmp_path: Path) -> pd.DataFrame:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "part-00000").write_text(LINES)
    return scrapes(tmp_path / "raw")


def rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.itertuples(index=False))


def test_lines_that_were_cut_off_do_not_count_and_unknown_counts_are_0(raw: pd.DataFrame) -> None:
    assert len(raw) == 5
    assert list(raw["sessions"]) == [15, 15, 1, 0, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tot", [("http://t1", "20111018", 2, 30, 1, 1, 3), ("http://t1", "20111019", 1, 3, 0, 1, 1),
                 ("http://t2", "20111018", 1, 1, 1, 0, 1)]),
        ("ah", [("20111018", 2), ("20111019", 1)]),
        ("sot", [(A, "http://t1", "20111018", 10, 5, 10, 1), (A, "http://t2", "20111018", 0, 1, 0, 1),
                 (B, "http://t1", "20111018", 0, 0, 0, 1), (B, "http://t1", "20111019", 3, 0, 3, 1)]),
        ("hot", [(A, "20111018", 10, 6, 2), (B, "20111018", 0, 0, 1), (B, "20111019", 3, 0, 1)]),
        ("at", [("20111018", 2), ("20111019", 1)]),
        ("as", [("20111018", 3, 0.75), ("20111019", 1, 0.25)]),
        ("tktg", [("http://t1", 30), ("http://t2", 1)]),
        ("tkhg", [(A, 16), (B, 3)]),
        ("join", [(A, "http://t1", "20111018T000000", "20111018T000000"),
                  (A, "http://t2", "20111018T010000", "20111018T010000"),
                  (B, "http://t1", "20111018T020000", "20111019T000000")]),
        ("ns", [("http://t1", "20111018", 2), ("http://t2", "20111018", 1)]),
        ("ds", [("http://t1", "20111018", 1), ("http://t1", "20111019", 1), ("http://t2", "20111018", 1)]),
    ],
)  # fmt: skip
def test_a_query(raw: pd.DataFrame, name: str, wanted: list[tuple[object, ...]]) -> None:
    assert rows(results(raw)[name]) == wanted


def test_of_many_the_ten_best_of_each_day_are_kept(tmp_path: Path) -> None:
    kept = results(scrapes(made(tmp_path / "raw", 200_000, days=2)))

    for name in ("tktl", "tksl", "tkhl"):
        assert kept[name].groupby("day").size().to_dict() == {"20111018": 10, "20111019": 10}
    assert {name: len(kept[name]) for name in ("tktg", "tksg", "tkhg")} == {"tktg": 10, "tksg": 10, "tkhg": 10}
    assert kept["tksg"]["sessions"].is_monotonic_decreasing


def write(folder: Path, name: str, frame: pd.DataFrame) -> None:
    place = folder / name
    place.mkdir(parents=True)
    half = len(frame) // 2
    for number, part in enumerate((frame[half:], frame[:half])):
        part.to_csv(place / f"part-r-{number:05d}", sep="\t", header=False, index=False)
    (place / "_SUCCESS").touch()


def test_results_in_any_order_and_number_of_files_compare_equal(raw: pd.DataFrame, tmp_path: Path) -> None:
    wanted = results(raw)
    for name, frame in wanted.items():
        write(tmp_path / "sets", name, frame)

    assert [compared.wrong for compared in compare(tmp_path / "sets", wanted)] == [""] * len(COLUMNS)


def test_a_difference_is_named(raw: pd.DataFrame, tmp_path: Path) -> None:
    wanted = {name: frame for name, frame in results(raw).items() if name in ("tot", "ah", "as", "ns")}
    write(tmp_path, "tot", wanted["tot"].assign(sessions=[30, 3, 2]))
    write(tmp_path, "ah", wanted["ah"][:1])
    write(tmp_path, "as", wanted["as"].assign(part=[0.75, 0.2500001]))

    said = {compared.name: compared.wrong for compared in compare(tmp_path, wanted)}

    assert said["tot"] == "1 rows differ in sessions, such as 2 instead of 1"
    assert said["ah"] == "1 rows instead of 2"
    assert said["as"].startswith("1 rows differ in part")
    assert "there is no whole result" in said["ns"]


def test_a_result_that_is_not_whole_and_records_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no whole result"):
        saved(tmp_path, "tot")
    with pytest.raises(UserError, match="there are no records"):
        scrapes(tmp_path)
