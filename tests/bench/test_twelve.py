"""The show of twelve tasks in the simulator: each policy wastes what it should, and tables and pictures say so."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bench.twelve import HOSTS, SLOTS, TASK_S, TASKS, Row, all_run_us, course_of, offline, picture, row_of, table
from fawkes.base.errors import FawkesError
from fawkes.core.values.decision import PutJob
from fawkes.core.values.model import JobLife
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore


@cache
def ledger(policy: str) -> Reader:
    return offline(policy)


def row(policy: str) -> Row:
    return row_of(ledger(policy), policy, "simulated")


@pytest.mark.parametrize(
    ("policy", "killed", "saved"), [("kill", True, False), ("checkpoint", False, True), ("adaptive", True, True)]
)
def test_policies_end_or_save_tasks(policy: str, killed: bool, saved: bool) -> None:
    """Adaptive ends the tasks that have just begun, and saves those that the important job displaces."""
    waste = row(policy).waste
    assert (waste["tasks_killed"] > 0, waste["tasks_saved"] > 0) == (killed, saved)
    assert (waste["killed_work_s"] > 0, waste["dumping_s"] > 0) == (killed, saved)
    assert waste["useful_s"] == pytest.approx(TASKS * TASK_S, rel=0.1)


def test_saving_holds_nodes_up_and_loses_less() -> None:
    kill, save, adaptive = map(row, ("kill", "checkpoint", "adaptive"))
    assert adaptive.release_s == kill.release_s < save.release_s
    assert adaptive.waste["killed_work_s"] < kill.waste["killed_work_s"]
    assert kill.urgent_s < save.urgent_s < save.long_s


def test_no_more_tasks_run_than_there_are_slots() -> None:
    course = course_of(ledger("kill"), "kill")
    most = [max(number for _, number in points) for points in course.running.values()]
    assert most == [TASKS, 4]
    assert max(number for _, number in course.slots) == HOSTS * SLOTS
    assert course.slots[-1][1] == (HOSTS - 2) * SLOTS
    assert 0 < course.marks_s[0] < course.marks_s[1] < course.slots[-1][0]


def test_of_a_run_that_is_not_there_nothing_is_known() -> None:
    assert all_run_us(ledger("kill"), "adaptive") is None


def test_a_job_that_failed_is_no_row() -> None:
    store = MemoryStore()
    for entry in ledger("kill").entries():
        changes = tuple(
            replace(change, state=replace(change.state, life=JobLife.FAILED, why="no room"))
            if isinstance(change, PutJob) and change.state.life is JobLife.SUCCEEDED
            else change
            for change in entry.decision.changes
        )
        store.append(entry.event, replace(entry.decision, changes=changes))
    with pytest.raises(FawkesError, match="no room"):
        row_of(store, "kill", "simulated")


def test_a_table_has_a_line_for_each_run_and_says_what_is_not_known() -> None:
    known = row("kill")
    lines = table([known, replace(known, where="live", waste={**known.waste, "useful_s": None})]).splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {13}
    assert [line.split(" | ")[6] == "-" for line in lines[2:]] == [False, True]


def test_the_picture_has_a_panel_for_each_policy_and_place() -> None:
    course = course_of(ledger("kill"), "kill")
    figure = picture([(policy, [("live", course), ("simulated", course)]) for policy in ("kill", "adaptive")])
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles == ["kill, live", "kill, simulated", "adaptive, live", "adaptive, simulated"]
