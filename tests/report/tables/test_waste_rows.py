"""The waste of preemption, in words and as rows; not known is a value of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.core.preemption.account import Account
from fawkes.core.preemption.waste import Waste
from fawkes.core.values.decision import Decision, PutJob
from fawkes.core.values.events import Woke
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState, Reason
from fawkes.engine.ports import Entry
from fawkes.report.tables.waste_rows import TASKS, WASTE, account_of_cluster, waste_in_words, waste_row
from fawkes.store.base import JOB, Latest

FULL = Account(
    waste=Waste(killed_s=60, dumping_s=20, restoring_s=10, useful_s=900),
    measured=True,
    waiting_s=30,
    unknown_s=10,
    saved=3,
    killed=2,
    unknown=1,
    unseen=1,
)


def test_an_account_in_words() -> None:
    assert waste_in_words(FULL) == (
        "Slot time of tasks: 15m00s useful; 1m30s wasted (9.0% at least), 1m00s of killed work, 20s of dumping and 10s "
        "of restoring; 30s waited without a slot between a save and the next start. Not known: how 1 task went, that "
        "had run for 10s; when 1 saved task ran again"
    )


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "10s wasted (10.0%),"),
        ({"unknown": 2, "unknown_s": 100}, "10s wasted (5.0% at least),"),
        ({"unknown": 1}, "10s wasted (10.0% at least),"),
        ({"unseen": 1}, "10s wasted (10.0% at least),"),
    ],
)
def test_a_part_without_what_is_not_known_is_the_least_that_was_wasted(told: dict[str, Any], words: str) -> None:
    account = Account(waste=Waste(killed_s=10, useful_s=90), measured=True, killed=1, **told)
    assert words in waste_in_words(account)


def test_where_no_task_had_to_go_there_are_no_words() -> None:
    assert waste_in_words(Account(waste=Waste(useful_s=9), measured=True)) == ""


def test_what_is_useful_is_not_known_without_readings() -> None:
    told = Account(waste=Waste(killed_s=5), killed=1)
    assert "not known useful; 5s wasted," in waste_in_words(told)
    assert (waste_row(told)["useful_s"], waste_row(told)["wasted_part"]) == (None, None)


def test_a_row_has_the_keys_that_tables_ask_for() -> None:
    assert tuple(waste_row(FULL)) == (*WASTE, *TASKS)


class _Steps:
    """A ledger with a hundred steps: two MR-clusters, each with a job of tasks, of which every step kills one."""

    def __init__(self, life: JobLife) -> None:
        self.read, self.life = 0, life

    def latest(self, kind: str, telling: object = None) -> list[Latest]:
        jobs = (
            [
                JobState(spec=JobSpec(id=JobId(f"j-{name}"), cluster=ClusterId(name), saves=True), life=self.life)
                for name in "ab"
            ]
            if kind == JOB
            else []
        )
        return [Latest(job.id, 1, PutJob(job)) for job in jobs]

    def mentions(self, kind: str, subject: str) -> list[int]:
        return [10, 11, 20] if subject == "j-a" else [1, 90]

    def entries(self, after: int = 0) -> Iterator[Entry]:
        for seq in range(after + 1, 101):
            self.read += 1
            facts = [{"job": f"j-{name}", "cluster": name, "how": "killed", "run_us": 1_000_000} for name in "ab"]
            yield Entry(seq, Woke(at_us=seq), Decision(reasons=tuple(Reason("task-went", each) for each in facts)))


@pytest.mark.parametrize(("life", "killed", "read"), [(JobLife.SUCCEEDED, 11, 12), (JobLife.RUNNING, 91, 91)])
def test_of_an_mr_cluster_only_the_steps_of_its_own_jobs_are_read(life: JobLife, killed: int, read: int) -> None:
    steps: Any = _Steps(life)
    assert account_of_cluster(steps, ClusterId("a")).killed == killed
    assert steps.read == read
    assert account_of_cluster(steps, ClusterId("c")) == Account()
    assert steps.read == read
