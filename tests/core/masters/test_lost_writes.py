"""Writes that a kept copy lacked: blocks by their writers, and how they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.clusters.keeping import copies_needed
from fawkes.core.masters.lost_writes import BlockGiven, BlockTrace, NewReplica, lost_writes
from fawkes.core.state import alerts
from fawkes.core.values.events import CopySeen, Progress, RetryAsked
from fawkes.core.values.model import ClusterAlert, JobId
from fawkes.core.values.tags import job_of, tag_of
from fawkes.report import history
from tests.support.desk import Desk
from tests.support.masters import A, cluster, ever, look, lost, moved, run, up

TASK = "DFSClient_attempt_17_0003_m_000000_0_-622612107_1"
OTHER = "DFSClient_NONMAPREDUCE_1910653381_17"


def writers(facts: Mapping[str, object]) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], facts["lost_writers"])


def test_blocks_of_tasks_are_those_of_their_application_and_each_counts_once() -> None:
    found = lost_writes(
        [NewReplica(1, 5, 10, "n1"), NewReplica(1, 5, 12, "n2"), NewReplica(2, 7, 11, "n2")],
        [
            BlockTrace(1, TASK, "n1", "n1"),
            BlockTrace(1, TASK, "n1", "n2"),
            BlockTrace(2, TASK.replace("0000_", "0001_"), "n2", "n2"),
        ],
        [BlockGiven(1, "/a"), BlockGiven(2, "/a")],
    )
    assert (found["lost_blocks"], found["lost_bytes"], found["lost_files"]) == (2, 12, ["/a"])
    task = {"application": "application_17_0003", "host": "", "blocks": 2, "total_bytes": 12, "until_us": 12}
    assert found["lost_writers"] == [task]


def test_other_clients_are_told_by_their_host() -> None:
    """DataNodes pass a block on: what the second one logs as its source is the first one."""
    outside = [BlockTrace(1, OTHER, "10.0.0.9", "n1"), BlockTrace(1, OTHER, "n1", "n2")]
    own = [BlockTrace(2, OTHER, "n2", "n2"), BlockTrace(2, OTHER, "n2", "n1")]
    half = [BlockTrace(3, OTHER, "n1", "n2"), BlockTrace(3, OTHER, "n4", "n3")]
    found = lost_writes([NewReplica(n, 1, 0, "n1") for n in (1, 2, 3, 4)], outside + own + half, [])
    assert {(each["host"], each["blocks"]) for each in writers(found)} == {("10.0.0.9", 1), ("n2", 1), ("", 2)}


def test_cells_of_a_group_are_one_block() -> None:
    cells = [NewReplica(-(1 << 63) + 16 + n, 5, 0, f"n{n}") for n in range(3)]
    found = lost_writes(cells, [], [])
    assert (found["lost_blocks"], found["lost_bytes"]) == (1, 15)


replicas = st.builds(
    NewReplica, st.integers(-40, 40), st.integers(0, 9), st.integers(0, 9), st.sampled_from(("n1", "n2"))
)
traces = st.builds(
    BlockTrace, st.integers(-40, 40), st.sampled_from((TASK, OTHER, "")), *[st.sampled_from(("n1", "n2", "x"))] * 2
)


@pytest.mark.slow
@given(st.lists(replicas), st.lists(traces))
def test_each_block_has_one_writer_and_no_byte_counts_twice(found: list[NewReplica], said: list[BlockTrace]) -> None:
    told = lost_writes(found, said, [])
    rows = writers(told)
    assert sum(row["total_bytes"] for row in rows) == told["lost_bytes"]
    size = sum(max(r.size for r in found if r.block == block) for block in {r.block for r in found})
    assert told["lost_bytes"] == size
    assert cast(int, told["lost_blocks"]) <= sum(row["blocks"] for row in rows)
    assert len({(row["application"], row["host"]) for row in rows}) == len(rows)


@given(st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,20}", fullmatch=True), st.integers(1, 99))
def test_a_job_is_known_by_its_tags(job: str, attempt: int) -> None:
    known = "" if job.lower().startswith("copy.") else job.lower()
    assert job_of(["x", tag_of(JobId(job), attempt)]) == known


def test_tags_that_are_of_no_job() -> None:
    assert job_of(["mine", "fawkes", "fawkes-x", "fawkes-copy.in-1", "fawkes--1"]) == ""


# How it is told.

REPLICAS = [NewReplica(n, 1 << 20, 5, "n2") for n in range(7)]
TASKS = [BlockTrace(n, f"DFSClient_attempt_1_000{n}_m_", "", "") for n in range(7)]
LOST = lost_writes(REPLICAS, TASKS, [], ["n3"])


def fails_over(desk: Desk, facts: Mapping[str, object]) -> Desk:
    """The same after its masters were lost, with these facts of the move."""
    since_us = lost(desk)
    look(desk)
    moved(desk, copied_us=since_us - 1, **facts)
    return desk


def test_what_was_lost_is_said_and_an_alert_until_an_operator_has_read_it() -> None:
    desk = fails_over(up(), LOST)
    (said,) = desk.said("writes-lost")
    assert (said["blocks"], said["total_bytes"], said["unlisted"]) == (7, 7 << 20, ["n3"])
    assert (len(said["writers"]), said["writers_count"]) == (5, 7)  # type: ignore[arg-type]
    assert cluster(desk).alert.startswith("writes of its last seconds may be lost: 7 blocks (7")
    assert "fawkes explain --cluster a" in cluster(desk).alert
    desk.tell(RetryAsked(at_us=desk.now_us, subject="a", ask="t"))
    assert (desk.refusal(), cluster(desk).alert) == ("", "")


def test_nothing_lost_is_nothing_said() -> None:
    desk = fails_over(up(), lost_writes([], [], []))
    assert (ever(desk, "writes-lost"), cluster(desk).alert) == ([], "")


def test_what_was_not_counted_is_no_good_news() -> None:
    """The usual loss: the host of the old masters is off, and blocks that only it has may have been acknowledged."""
    desk = fails_over(up(), lost_writes([], [], [], ["n3"]))
    assert [facts["unlisted"] for facts in ever(desk, "writes-lost")] == [["n3"]]
    assert cluster(desk).alert.startswith("writes of its last seconds may be lost: what n3 has was not counted. ")


def test_a_job_that_had_ended_although_the_copy_has_it_at_work() -> None:
    """Its last writes are not in the copy. A job that begins again is told as such, and one of users has no job."""
    desk = up()
    for number in (1, 2):
        desk.submit("a", number)
        run(desk, f"a-{number}")
    desk.job("a-1", Progress.SUCCEEDED)
    ended = [{"id": f"application_{n}", "tags": [tag_of(JobId(f"a-{n}"), 1)]} for n in (1, 2)]
    fails_over(desk, {"ended": [*ended, {"id": "application_3"}, "application_4"]})
    (said,) = desk.said("writes-lost")
    assert (said["jobs"], said["blocks"]) == (["a-1"], None)
    assert "the end of job a-1" in cluster(desk).alert
    assert cluster(desk).id == A


def test_a_loss_stays_beside_every_other_alert_until_an_operator_has_read_it() -> None:
    desk = fails_over(up(), LOST)
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A, error="no answer"))
    desk.wait(600)
    assert [alert.about for alert in alerts.every(cluster(desk))] == [ClusterAlert.WRITES, ClusterAlert.COPY]
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A))
    assert [alert.about for alert in alerts.every(cluster(desk))] == [ClusterAlert.WRITES]
    desk.tell(RetryAsked(at_us=desk.now_us, subject="a"))
    assert alerts.every(cluster(desk)) == ()


def kept(desk: Desk, name: str = "a") -> bool:
    return copies_needed(next((one for one in history.clusters(desk.store) if one.id == name), None))


def leave(desk: Desk) -> None:
    """a is given back with all that it has, and its nodes are seen clean."""
    desk.release(A, discard=True, force=True)
    assert kept(desk)
    desk.clean_all()
    assert A not in desk.state.clusters


def test_copies_go_when_the_mr_cluster_has_gone_and_nothing_of_it_was_lost() -> None:
    desk = up()
    assert kept(desk)
    leave(desk)
    assert not kept(desk)
    # A ledger that never had it, such as one that was begun anew, knows nothing of it.
    assert kept(desk, "b")


def test_copies_of_an_mr_cluster_with_lost_writes_stay_when_it_has_gone() -> None:
    desk = fails_over(up(), LOST)
    leave(desk)
    assert kept(desk)
    # A later one of the same name that lost nothing takes them with it.
    desk.up("a", 3)
    assert kept(desk)
    leave(desk)
    assert not kept(desk)


def test_copies_go_when_the_loss_was_acknowledged_before_the_release() -> None:
    desk = fails_over(up(), LOST)
    desk.tell(RetryAsked(at_us=desk.now_us, subject="a", ask="t"))
    leave(desk)
    assert not kept(desk)
