"""Frames as files: a plain reader keeps every policy, and ours gives the frame back."""

from __future__ import annotations

import resource
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError, UserError
from fawkes.offline.outcomes.statistics import frame_of
from fawkes.offline.runs.folder import read_frame, write_frame
from tests.offline.outcomes.test_statistics import row

TAKEN = ["None", "NA", "null", "nan", "N/A"]


def test_plain_pandas_keeps_the_policy_none_and_the_settings_of_nobody(tmp_path: Path) -> None:
    write_frame(tmp_path / "runs", frame_of([row("TD", 1, 2.0), row("None", 1, 4.0), row("None", 2, 4.0)]))
    plain = pd.read_csv(tmp_path / "runs.csv")
    means = plain.groupby(["policy", "settings"]).slowdown_mean.mean()
    assert means.to_dict() == {("None (policy)", "-"): 4.0, ("TD", "-"): 2.0}
    for name in ("runs.csv", "runs.parquet"):
        assert list(read_frame(tmp_path / name).policy) == ["TD", "None", "None"]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from([*TAKEN, "TD", "x y", "None (policy)x"]), st.floats(0, 9)), min_size=1))
def test_no_text_is_lost_to_a_plain_reader_and_ours_gives_it_back(
    tmp_path: Path, values: list[tuple[str, float]]
) -> None:
    frame = pd.DataFrame(values, columns=["policy", "x"])
    write_frame(tmp_path / "f", frame)
    assert pd.read_csv(tmp_path / "f.csv").policy.notna().all()
    back = read_frame(tmp_path / "f.csv")
    assert list(back.policy) == list(frame.policy)
    assert list(back.x) == pytest.approx(list(frame.x))


def test_an_mr_cluster_named_failed_hides_no_total() -> None:
    frame = frame_of([{**row("TD", 1, 2.0), "failed_jobs": 3, "clusters": [{"cluster": "failed", "jobs": 7}]}])
    assert (frame.failed_jobs[0], frame.failed_jobs_of_cluster[0]) == (3, 7)


def test_texts_are_the_same_from_both_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({"job": ["0017", "1e3"], "cluster": ["", "007"], "policy": ["None", "1"], "nodes": [1, 2]})
    write_frame(tmp_path / "f", frame)
    for name in ("f.csv", "f.parquet"):
        pd.testing.assert_frame_equal(read_frame(tmp_path / name), frame)


def test_a_frame_that_does_not_fit_leaves_the_old_ones(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    write_frame(tmp_path / "f", pd.DataFrame({"x": [1]}))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    try:
        with pytest.raises(UserError, match=r"f\.csv: cannot be written"):
            write_frame(tmp_path / "f", pd.DataFrame({"x": range(100)}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_what_is_missing_stays_missing(tmp_path: Path) -> None:
    write_frame(tmp_path / "f", pd.DataFrame({"verdict": ["a", None], "x": [1.0, None]}))
    back = read_frame(tmp_path / "f.csv")
    assert back.isna().to_numpy().tolist() == [[False, False], [True, True]]


def test_a_file_that_is_no_frame_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_text("x")
    for name, says in (("nothing.csv", "there is no such file"), ("f.parquet", "cannot be read as a table")):
        with pytest.raises(ConfigError, match=says):
            read_frame(tmp_path / name)
