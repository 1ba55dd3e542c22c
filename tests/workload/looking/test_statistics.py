from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fawkes.base.errors import UserError
from fawkes.report.pictures.style import rendered
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.looking.pictures import workload_picture
from fawkes.workload.looking.statistics import Lines, frame_of, summary_of
from fawkes.workload.model import Trace, TraceJob

DATA = Path(__file__).parents[1] / "data"
S = 1_000_000


def test_a_workload_in_numbers() -> None:
    jobs = (
        TraceJob(id="a", submit_us=0, application="sort", user="ann", maps=1, reduces=0, input_bytes=10),
        TraceJob(id="b", submit_us=2 * S, application="grep", user="ann", maps=10, reduces=4, input_bytes=20),
        TraceJob(id="c", submit_us=8 * S, application="sort", maps=30, shuffle_bytes=0, map_us=S // 2, cluster="c-1"),
        TraceJob(id="d", submit_us=30 * S, shuffle_bytes=7, after=("a",)),
    )
    summary = summary_of(Trace(source="x", jobs=jobs, header={"k": "v"}, format="table"))
    assert (summary.jobs, summary.span_s, summary.rate_per_min, summary.dependent) == (4, 30.0, 6.0, 1)
    assert (summary.map_only, summary.one_map, summary.to_ten_maps) == (0.5, 1 / 3, 2 / 3)
    assert (summary.applications, summary.users, summary.clusters) == ({"sort": 2, "grep": 1}, 1, {"c-1": 1})
    rows = {row.what: row for row in summary.sizes}
    assert list(rows) == ["gap_s", "input_bytes", "shuffle_bytes", "maps", "reduces", "map_s"]
    assert (rows["gap_s"].jobs, rows["gap_s"].p50, rows["gap_s"].max, rows["gap_s"].total) == (3, 6.0, 22.0, 30.0)
    assert (rows["maps"].p50, rows["maps"].mean, rows["maps"].total) == (10, 41 / 3, 41)
    assert (rows["map_s"].p50, rows["map_s"].total) == (0.5, None)
    assert "sizes" not in summary.plain()


def test_two_jobs_have_one_time_between_them() -> None:
    jobs = tuple(TraceJob(id=name, submit_us=at_s * S) for name, at_s in (("a", 0), ("b", 105)))
    assert summary_of(Trace(source="", jobs=jobs)).rate_per_min == pytest.approx(60 / 105)


def test_nothing_is_known_of_nothing() -> None:
    summary = summary_of(Trace(source="", jobs=(TraceJob(id="a", submit_us=5 * S),)))
    assert (summary.span_s, summary.rate_per_min, summary.map_only, summary.one_map) == (0.0, None, None, None)
    assert summary.sizes == ()


def test_what_was_left_out_stands_in_the_summary() -> None:
    summary = summary_of(read_workload(DATA / "hpc2n-first60.swf"))
    assert summary.dropped == {"with a job without run time": Lines(6, "line 34")}
    assert summary.plain()["dropped"] == {"with a job without run time": {"count": 6, "first": "line 34"}}


def test_a_frame_has_the_columns_of_the_table() -> None:
    frame = frame_of(read_workload(DATA / "rumen-5jobs.json.gz"))
    assert list(frame["maps"]) == [1, 1, 4, 2, 2]
    assert frame["submit_s"].iloc[1] == 35.236
    assert math.isnan(frame["reduce_s"].iloc[0])
    assert set(frame.columns) >= {"id", "submit_s", "input_bytes", "map_s", "think_s", "after", "cluster"}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_picture_has_the_same_bytes_each_time() -> None:
    trace = read_workload(DATA / "rumen-5jobs.json.gz")
    for kind, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        first = rendered(workload_picture(trace), kind)
        assert first.startswith(begins)
        assert rendered(workload_picture(trace), kind) == first


@pytest.mark.slow
def test_a_picture_shows_what_is_known() -> None:
    panels = {
        "fb-2009-first20.tsv": ["gap between jobs", "bytes of a job", "tasks of a job"],
        "hpc2n-first60.swf": ["gap between jobs", "processors of a job", "how long it takes"],
        "sls-2jobs.json": ["gap between jobs", "tasks of a job", "how long it takes"],
    }
    for name, titles in panels.items():
        figure = workload_picture(read_workload(DATA / name))
        assert [axes.get_title() for axes in figure.axes if axes.get_title()] == titles
        assert figure.get_suptitle().startswith(f"{name}: ")
    picture = workload_picture(Trace(source="", jobs=(TraceJob(id="a", submit_us=5 * S),)))
    assert picture.get_suptitle() == "1 job"
    with pytest.raises(UserError, match="without jobs"):
        workload_picture(Trace(source="", jobs=()))


@pytest.mark.slow
def test_the_shares_of_a_panel_end_at_one_and_begin_at_zero() -> None:
    figure = workload_picture(read_workload(DATA / "fb-2009-first20.tsv"))
    panel = next(axes for axes in figure.axes if axes.get_title() == "tasks of a job")
    maps = panel.get_lines()[0]
    shares = np.asarray(maps.get_ydata(), dtype=float).tolist()
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert len(shares) == 22
    assert shares == sorted(shares)
