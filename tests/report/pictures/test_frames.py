"""Frames of a run: one shape for live and simulated stores."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from fawkes.core.state.state import NO_TICK
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Woke
from fawkes.core.values.model import Reason
from fawkes.report import history
from fawkes.report.pictures import frames
from fawkes.report.pictures.steps import held, value_at
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from fawkes.store.sqlite import LedgerReader
from tests.report.played import filled, recorded

FRAMES = ("nodes", "clusters", "jobs", "ticks", "moves", "samples")


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_a_ledger_gives_the_same_frames_as_a_simulated_store(name: str, played: Reader, played_ledger: Path) -> None:
    ledger = LedgerReader(played_ledger)
    assert_frame_equal(getattr(frames, name)(ledger), getattr(frames, name)(played))
    ledger.close()


@pytest.mark.parametrize("name", FRAMES)
def test_an_empty_store_gives_empty_frames_with_the_same_columns(name: str, played: Reader) -> None:
    empty = getattr(frames, name)(MemoryStore())
    assert len(empty) == 0
    assert list(empty.columns) == list(getattr(frames, name)(played).columns)


@pytest.mark.parametrize("run", ["played", "fresh"])
def test_nodes_always_add_up_to_the_pool(run: str, request: pytest.FixtureRequest) -> None:
    frame = frames.nodes(request.getfixturevalue(run))
    wide = frame.pivot_table(index="at_s", columns=["cluster", "role"], values="nodes", aggfunc="last").ffill()
    assert set(wide.sum(axis="columns")) == {10.0}
    assert frame["at_s"].is_monotonic_increasing


def test_nodes_of_a_cluster_over_time(played: Reader) -> None:
    frame = frames.nodes(played)
    first = frame[(frame["cluster"] == "c-1") & (frame["role"] == "transient")]
    steps = [[20.0, 8], [43.75, 6], [62.75, 1], [83.75, 0], [125.0, 1], [142.75, 0]]
    assert first[["at_s", "nodes"]].to_numpy().tolist() == steps
    core = frame[(frame["cluster"] == "c-1") & (frame["role"] == "core")]
    assert core[["at_s", "nodes"]].to_numpy().tolist() == [[1.0, 2], [293.75, 0]]
    assert list(frame[frame["cluster"] == ""]["role"].unique()) == ["free", "out"]


def test_clusters_have_the_times_of_the_paper(played: Reader) -> None:
    frame = frames.clusters(played).set_index("cluster")
    assert frame[["deploy_s", "load_s"]].to_numpy().tolist() == [[12.0, 4.0]] * 3
    assert frame["wait_s"].tolist() == [0.0, 2.75, 6.5]
    assert frame["save_s"].iloc[0] == 2.0
    assert frame["save_s"].isna().tolist() == [False, True, True]


def test_jobs(played: Reader) -> None:
    frame = frames.jobs(played).set_index("job")
    assert len(frame) == 24
    assert Counter(frame["state"].tolist()) == {"succeeded": 23, "failed": 1}
    assert frame.loc["c-2-job3", "why"] == "exit code 1"
    response = frame["wait_s"] + frame["run_s"]
    assert (response - frame["response_s"]).abs().max() < 1e-9
    assert (frame["response_s"] / 20 - frame["slowdown"]).abs().max() < 1e-9


def test_ticks(played: Reader) -> None:
    frame = frames.ticks(played)
    third = frame[frame["tick"] == 3]
    assert third["cluster"].tolist() == ["c-1", "c-2"]
    assert third["weight"].sum() == pytest.approx(1.0)
    assert third["verdict"].unique().tolist() == ["unbalanced"]
    assert frame["tick"].unique().tolist() == list(range(1, 17))
    paused = frame[frame["verdict"] == "paused"]
    assert paused["at_s"].unique().tolist() == [120.0]


def test_a_tick_without_an_active_cluster_is_still_there() -> None:
    store = MemoryStore()
    reason = Reason("tick", {"tick": 1, "verdict": "no-weights", "clusters": {}})
    store.append(Woke(at_us=5), Decision((replace(NO_TICK, tick=1),), (), (reason,)))
    frame = frames.ticks(store)
    assert frame[["tick", "verdict", "cluster"]].to_numpy().tolist() == [[1, "no-weights", ""]]


def test_moves(played: Reader) -> None:
    frame = frames.moves(played)
    fields = ["node", "from_cluster", "to_cluster", "role", "begun_s", "ended_s", "codes"]
    rows = [tuple(row) for row in frame[fields].to_numpy().tolist()]
    assert ("node05", "c-1", "c-2", "transient-core", 60.0, 66.75, "shrink grow") in rows
    assert ("node09", "c-2", "c-3", "core", 81.0, 99.5, "shrink-to-admit admitted") in rows
    assert ("node08", "c-3", "", "transient", 200.0, 202.75, "leaves-for-operator") in rows
    assert ("node08", "", "c-3", "transient", 230.0, 234.0, "grow") in rows
    assert ("node01", "c-1", "", "core", 292.75, 293.75, "retire") in rows
    assert frame["begun_s"].is_monotonic_increasing
    assert frame["ended_s"].notna().all()
    assert frame["why"].str.len().min() > 10


def test_a_move_that_is_under_way() -> None:
    store = filled(islice(recorded(), 88))
    under_way = [(move.node, move.source, move.target) for move in history.moves(store) if move.ended_us is None]
    assert under_way == [(f"node0{i}", "c-1", "") for i in range(5, 10)]
    assert frames.moves(store)["ended_s"].isna().sum() == 5


def test_samples(played: Reader) -> None:
    frame = frames.samples(played)
    assert set(frame["cluster"]) == {"c-1", "c-2", "c-3"}
    assert frame["jobs_waiting"].max() == 7
    assert (frame["slots_used"] <= frame["slots_total"]).all()


def test_step_functions(played: Reader) -> None:
    curves = held(played)
    assert curves.clusters == ("c-1", "c-2", "c-3")
    assert curves.most() == 10
    curve = curves.curve("c-1", "transient")
    assert [value_at(curve, at_s) for at_s in (0.0, 19.9, 20.0, 43.74, 43.75, 300.0)] == [0, 0, 8, 8, 6, 0]
    assert curves.curve("c-9", "core") == ([0.0], [0])
