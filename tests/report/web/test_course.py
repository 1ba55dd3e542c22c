"""Curves of the page: the same however a ledger is read, bounded, and equal to the rows of the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.values import events
from fawkes.core.values.decision import PutNode
from fawkes.core.values.model import Role
from fawkes.core.values.sight import Compute, Stored
from fawkes.engine.ports import Entry
from fawkes.report.tables.board import board
from fawkes.report.web.course import PoolCourse
from fawkes.report.web.metrics import Seen
from fawkes.store.base import Reader
from tests.report.played import recorded
from tests.support.desk import Desk, growing, grown
from tests.support.pools import settings, started

ENTRIES = list(recorded())
KINDS = ("core", "transient-core", "transient", "joining", "leaving", "lost")


def folded(until: int = len(ENTRIES)) -> PoolCourse:
    """The course of the first steps of the recorded run."""
    course = PoolCourse()
    for entry in ENTRIES[:until]:
        course.follow(entry)
    return course


WHOLE = folded().plain()


@given(st.lists(st.integers(0, len(ENTRIES)), max_size=4))
def test_a_ledger_that_is_read_in_pieces_gives_the_same_as_one_that_is_read_at_once(ends: list[int]) -> None:
    course, done = PoolCourse(), 0
    for end in [*sorted(ends), len(ENTRIES)]:
        for entry in ENTRIES[done:end]:
            course.follow(entry)
        done = end
        course.plain()
    assert course.plain() == WHOLE


def shown(course: PoolCourse, cluster: str) -> dict[str, float]:
    """The last point of each curve of nodes."""
    curves = course.curves[cluster]
    return {kind: curves[kind].values[-1] or 0.0 if kind in curves else 0.0 for kind in KINDS}


def test_the_last_points_are_the_rows_of_status(played: Reader) -> None:
    course = folded()
    for row in board(played, "clusters"):
        assert shown(course, row["cluster"]) == {kind: row[kind.replace("-", "_")] for kind in KINDS}, row["cluster"]


def test_a_lost_node_is_no_core_node_and_a_joining_one_is_not_at_work() -> None:
    desk = growing(Role.TRANSIENT)
    desk.see("node02", events.Condition.LOST)
    (row,) = board(desk.store, "clusters")
    assert (row["core"], row["lost"], row["transient"], row["joining"]) == (1, 1, 0, 4)
    assert shown(of(desk), "a") == {kind: row[kind.replace("-", "_")] for kind in KINDS}


def test_no_node_is_in_two_curves_and_none_is_missing(played: Reader) -> None:
    course, nodes = folded(), board(played, "nodes")
    every = [*course.pool.values()]
    every += [curve for curves in course.curves.values() for kind, curve in curves.items() if kind in KINDS]
    assert sum(curve.values[-1] or 0.0 for curve in every if curve.values) == len(nodes)


def test_jobs_are_those_of_the_rows(played: Reader) -> None:
    course, rows = folded(), {row["job"]: row["state"] for row in board(played, "jobs")}
    assert {job.id: job.life.value for job in course.newest_jobs()} == rows
    assert course.job_count == len(rows) > 1


def test_moves_are_those_of_the_ledger() -> None:
    course, counts, lives, began = folded(), counted(ENTRIES), dict[str, str](), Counter[str]()
    for change in (change for entry in ENTRIES for change in entry.decision.changes if isinstance(change, PutNode)):
        old, new = lives.get(change.state.node.id, "free"), change.state.life.value
        began["grow"] += new == "joining" != old
        began["shrink"] += old in ("joining", "serving") and new in ("draining", "cleaning")
        lives[change.state.node.id] = new
    assert counts.moved == began
    assert min(began.values()) > 0
    assert all(row["decided"] for row in course.shown(course.moves))


def counted(entries: Iterable[Entry]) -> Seen:
    """The counts of a page that has seen these steps."""
    counts = Seen(0, 0, ())
    for entry in entries:
        counts.follow(entry)
    return counts


def of(desk: Desk) -> PoolCourse:
    """The course of what a desk has decided."""
    course = PoolCourse()
    for entry in desk.store.entries():
        course.follow(entry)
    return course


def test_nodes_that_are_deployed_and_released_move_too() -> None:
    desk = Desk.running("a")
    count = len(desk.lives("a"))
    assert counted(desk.store.entries()).moved == {"grow": count}
    desk.release("a")
    desk.done("cluster:a")
    assert set(desk.lives("a").values()) == {"cleaning"}
    assert counted(desk.store.entries()).moved == {"grow": count, "shrink": count}


def test_a_node_that_was_lost_while_it_left_leaves_once() -> None:
    desk = grown()
    desk.drain("node03")
    assert counted(desk.store.entries()).moved == {"grow": 6, "shrink": 1}
    desk.see("node03", events.Condition.LOST)
    desk.look("node03", compute=Compute.LEFT, stored=Stored.LEAVING)
    assert desk.lives("a")["node03"] == "evacuating"
    assert counted(desk.store.entries()).moved == {"grow": 6, "shrink": 1}


def test_in_shadow_mode_nothing_moves() -> None:
    desk = Desk(6)
    desk.up("a")
    before = counted(desk.store.entries()).moved
    desk.now_s += 5
    desk.tell(started(6, desk.now_s, epoch=2, controller="head.1.0", how=settings(), shadow=True))
    desk.tick(a=40)
    assert "grow" in desk.codes()
    assert counted(desk.store.entries()).moved == before


def test_what_is_kept_of_a_step_does_not_grow_with_the_nodes_that_it_changed() -> None:
    course = folded()
    assert len(course.steps) > len(course.moves) > 0
    assert not any(kept.decision.changes for kept in (*course.moves, *course.steps))


def test_a_reading_that_failed_is_not_known_and_not_zero() -> None:
    course = folded()
    readings = [
        (reading.cluster, reading.tasks_waiting)
        for entry in ENTRIES
        for reading in getattr(entry.event, "readings", ())
        if not reading.error
    ]
    assert readings
    for name, curves in course.curves.items():
        waiting = {tasks for cluster, tasks in readings if cluster == name}
        assert set(curves["waiting"].values) <= {None, *map(float, waiting)}
