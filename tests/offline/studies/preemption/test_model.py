"""The model of slots and devices: the closed forms of two jobs, laws of every run, and drawn workloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS, PreemptionCase
from fawkes.offline.studies.preemption.experiments.rig import at
from fawkes.offline.studies.preemption.play import PreemptionPlay, Row, play
from fawkes.offline.studies.preemption.workloads import PreemptionWorkload, StudyJob, workload_of

POLICIES = ("wait", "kill", "checkpoint", "adaptive")


class Small(PreemptionPlay):
    """A run of a given workload, watched: free slots after each event."""

    def __init__(self, case: PreemptionCase, workload: PreemptionWorkload) -> None:
        super().__init__(case)
        self.workload = workload
        self.undone = [len(job.tasks) for job in workload.jobs]
        del self.nodes[workload.nodes :]
        for node in self.nodes:
            node.free = workload.slots
        self.free = workload.nodes * workload.slots

    def watched(self) -> Iterator[list[int]]:
        run = self._at

        def at_(at_s: float, act: object, *what: object) -> None:
            run(at_s, act, *what)  # type: ignore[arg-type]
            self.seen.append([node.free for node in self.nodes])

        self.seen: list[list[int]] = []
        self._at = at_  # type: ignore[method-assign]
        self.row: Row = self.run()
        yield from self.seen


JOBS = st.lists(
    st.builds(
        StudyJob,
        st.integers(0, 2),
        st.floats(0, 300),
        st.lists(st.tuples(st.floats(1, 200), st.floats(0.1, 8)), min_size=1, max_size=6).map(tuple),
    ),
    min_size=1,
    max_size=8,
).map(lambda jobs: tuple(sorted(jobs, key=lambda job: job.at_s)))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    JOBS, st.sampled_from(POLICIES), st.sampled_from(fixed.MEDIA), st.sampled_from(["", "freeze", "full", "lossy"]),
    st.sampled_from([None, 1]),
)  # fmt: skip
def test_laws_of_every_run(jobs: tuple[StudyJob, ...], policy: str, medium: str, model: str, cap: int | None) -> None:
    """K18: each second of a slot is accounted for once; all work is done; no node gives slots that it does not have."""
    case = PreemptionCase(workload="yarn", policy=policy, medium=medium, model=model, cap=cap)
    small = Small(case, PreemptionWorkload(jobs, 2, 2))
    assert all(0 <= free <= 2 for seen in small.watched() for free in seen)
    row = small.row
    work_s = sum(work_s for job in jobs for work_s, _ in job.tasks)
    assert row["used_s"] == pytest.approx(row["slot_s"], rel=1e-6)
    assert row["useful_s"] == pytest.approx(work_s, rel=1e-6)
    assert not any(small.undone)
    assert (small.in_flight, small.free, small.active) == (0, 4, {})
    if policy == "wait":
        assert row["kills"] == row["full"] == 0
    if cap is not None:
        assert row["most_kills"] <= cap


@pytest.mark.parametrize(
    ("policy", "mbps", "high", "low"),
    [
        ("kill", None, 60.0, 150.0),
        ("wait", None, 90.0, 60.0),
        ("checkpoint", 50.0, 162.4, 324.8),
        ("checkpoint", 200.0, 85.6, 171.2),
        ("checkpoint", 400.0, 72.8, 145.6),
        ("checkpoint", 5000.0, 61.02, 122.05),
        ("adaptive", 200.0, 60.0, 150.0),
        ("adaptive", fixed.TIE_MBPS, 60.0, 150.0),
        ("adaptive", 400.0, 72.8, 145.6),
    ],
)
def test_two_jobs_take_what_the_closed_form_says(policy: str, mbps: float | None, high: float, low: float) -> None:
    """K19."""
    row = play(PreemptionCase(workload="rig", policy=policy) if mbps is None else at(policy, mbps))
    assert (row["high"], row["low"]) == pytest.approx((high, low), abs=0.005)
    assert row["energy"] == pytest.approx(row["makespan"])


def job(level: int, at_s: float, *works_s: float) -> StudyJob:
    return StudyJob(level, at_s, tuple((work_s, 1.0) for work_s in works_s))


def test_a_victim_that_ends_before_its_turn_is_not_dumped() -> None:
    """K7: the second dump would begin when the first ends, at 39 s; its task ends at 20 s, which frees its slot."""
    jobs = (job(0, 0, 100.0, 20.0), job(2, 5, 10.0, 10.0))
    small = Small(PreemptionCase(workload="yarn", policy="checkpoint", medium="hdd"), PreemptionWorkload(jobs, 1, 2))
    small.random.shuffle = lambda victims: None  # type: ignore[method-assign, assignment]
    row = small.run()
    assert (row["full"], row["kills"]) == (1, 0)
    assert row["high"] == pytest.approx(20 + 10 + 10 - 5)


def test_a_task_that_is_preempted_three_times_has_one_full_dump_and_then_increments() -> None:
    """K16, and K13: nothing but dumps, restores and useful work."""
    jobs = (job(0, 0, 400.0), *(job(2, at_s, 5.0) for at_s in (60.0, 150.0, 260.0)))
    row = Small(PreemptionCase(workload="yarn", policy="adaptive", medium="ssd"), PreemptionWorkload(jobs, 1, 1)).run()
    assert (row["full"], row["incremental"], row["kills"]) == (1, 2, 0)
    assert row["useful_s"] == pytest.approx(415.0)
    assert row["killed"] == 0


def test_replicas_make_dumps_longer() -> None:
    one, two, three = (play(replace(at("checkpoint", 400.0), copies=copies)) for copies in (1, 2, 3))
    assert [round(row["high"] - 60, 2) for row in (one, two, three)] == [12.8, 26.88, 28.16]


@pytest.mark.parametrize("seed", [1, 7])
def test_the_yarn_workload_has_forty_jobs_with_7000_tasks(seed: int) -> None:
    workload = workload_of(PreemptionCase(workload="yarn", policy="kill", seed=seed))
    assert (len(workload.jobs), sum(len(each.tasks) for each in workload.jobs)) == (40, 7_000)
    assert workload == workload_of(PreemptionCase(workload="yarn", policy="adaptive", seed=seed))
    assert workload != workload_of(PreemptionCase(workload="yarn", policy="kill", seed=seed + 1))


def test_a_model_that_changes_nothing_of_a_policy_is_no_other_run() -> None:
    case = PreemptionCase(workload="yarn", policy="adaptive", medium="ssd", cap=5)
    assert replace(case, model="basic").plain() == replace(case, policy="checkpoint", cap=None)
    assert replace(case, model="slow").plain() == replace(case, medium="hdd")
    assert replace(case, model="no-cap").plain() == replace(case, cap=None)
    assert replace(case, policy="kill", model="lossy").plain() == PreemptionCase(workload="yarn", policy="kill")
    assert all(replace(case, model=model).plain().plain() == replace(case, model=model).plain() for model in MODELS)


@pytest.mark.slow
def test_the_same_case_gives_the_same_row() -> None:
    case = PreemptionCase(workload="yarn", policy="kill", seed=3)
    assert play(case) == play(case)
