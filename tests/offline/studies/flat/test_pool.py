"""The numbered statements of the study (fact sheet 4.1) on the readable pool, which asks the policies' own files."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError, UserError
from fawkes.offline.studies.flat.allocators import parsed
from fawkes.offline.studies.flat.deadlines import TYPES, VARIABLE, with_deadlines
from fawkes.offline.studies.flat.metrics import FlatOutcome
from fawkes.offline.studies.flat.play import admission_of, is_compiled, play
from fawkes.offline.studies.flat.pool import FlatPool
from fawkes.offline.studies.flat.twins import twin
from tests.offline.studies.flat.support import CATALOG, ends, jobs_of, policy, run

ALL = ("BASELINE", "REACTIVE", "ORACLE", "PYTHIA", "JUSTICE")


def test_1_a_job_that_ends_at_its_deadline_has_met_it() -> None:
    jobs = jobs_of((0, 10, 100, 10.0))
    assert ends(run(jobs, 10, "REACTIVE")) == ["met"]


def test_1_a_completion_comes_before_a_submission_of_the_same_instant() -> None:
    jobs = jobs_of((0, 10, 100, inf), (10, 10, 100, 10.0))
    outcome = run(jobs, 10, "REACTIVE")
    assert ends(outcome) == ["met", "met"]
    assert outcome.start_s.tolist() == [0.0, 10.0]


@pytest.mark.parametrize("allocator", ALL)
def test_4_a_single_job_takes_its_work_over_its_cpus(allocator: str) -> None:
    outcome = run(jobs_of((5, 7, 1000, 2000.0)), 20, allocator)
    assert outcome.finish_s[0] - outcome.start_s[0] == pytest.approx(1000 / outcome.granted[0], abs=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(list(TYPES)), allocator=st.sampled_from(ALL))
def test_3_5_6_work_is_conserved(seed: int, kind: str, allocator: str) -> None:
    jobs = with_deadlines(twin("TR1", seed, jobs=25), kind, 300, seed)
    outcome = run(jobs, 300, allocator)
    plain = outcome.plain()
    assert plain["ptr"] + plain["wtr"] + plain["unserved"] == pytest.approx(1)
    assert "open" not in ends(outcome)
    done = np.isin(outcome.ends, [1, 2])
    np.testing.assert_allclose(outcome.consumed_s[done], jobs.work_s[done])
    assert (outcome.consumed_s <= jobs.work_s * (1 + 1e-9)).all()
    assert (outcome.consumed_s >= 0).all()
    last = np.nanmax(outcome.finish_s)
    assert plain["ptr"] <= 300 * last / jobs.work_s.sum() + 1e-9
    assert outcome.utilisation is not None
    assert 0 <= outcome.utilisation <= 1 + 1e-9


class Watched:
    """A policy that looks at each queue before it is asked: what is held and what is free is the capacity."""

    def __init__(self, name: str, capacity: int) -> None:
        self._policy, self._capacity = admission_of(policy(name), parsed(name)), capacity
        self.needs_work = self._policy.needs_work

    def admit(self, queue, memory):  # type: ignore[no-untyped-def]
        assert sum(job.granted for job in queue.jobs) + queue.free == queue.total == self._capacity
        return self._policy.admit(queue, memory)

    def learn(self, done, memory):  # type: ignore[no-untyped-def]
        return self._policy.learn(done, memory)

    def late(self, job, memory):  # type: ignore[no-untyped-def]
        return self._policy.late(job, memory)


@pytest.mark.parametrize("allocator", ALL)
def test_3_cpus_are_conserved_at_each_pass(allocator: str) -> None:
    jobs = with_deadlines(twin("TR1", 4, jobs=40), "Aria1x3x", 300, 4)
    FlatPool(jobs, 300, Watched(allocator, 300)).run()


# --- PYTHIA


def test_19_20_pythia_asks_for_the_largest_fraction() -> None:
    # Two jobs with a rate of 0.5 teach the fraction; the third has 100 tasks, the fourth one.
    taught = ((0, 10, 50, 10.0), (10, 10, 50, 10.0))
    outcome = run(jobs_of(*taught, (100, 100, 100, 100.0), (100, 1, 1, 100.0)), 2250, "PYTHIA")
    assert outcome.granted.tolist() == [10, 10, 50, 1]


def test_19_a_job_that_waits_asks_for_more_and_is_dropped_at_last() -> None:
    taught = ((0, 100, 500, 10.0), (10, 100, 500, 10.0))
    # Half of 100 CPUs are asked for at once. After 25 of 100 s it is 67, after 60 s it is more than there are.
    for held, granted in ((25, 67), (60, 0)):
        hogs = ((100, 100, 50.0 * (held + 1), held + 1), (100, 100, 50.0 * (held + 1), held + 1))
        outcome = run(jobs_of(*taught, *hogs, (101, 100, 100, 100.0)), 100, "PYTHIA")
        assert outcome.granted.tolist() == [100, 100, 50, 50, granted]


def test_20_the_first_jobs_get_what_is_free() -> None:
    outcome = run(jobs_of((0, 6, 60, 100.0), (0, 8, 80, 100.0)), 10, "PYTHIA")
    assert sorted(outcome.granted.tolist()) == [4, 6]


def test_21_who_does_not_fit_is_passed_over() -> None:
    # With a fraction of one half: 15 and 5 of 30 CPUs are busy when 15 and 5 are asked for.
    taught = ((0, 2, 10, 10.0), (0, 2, 10, 10.0))
    busy = ((20, 30, 1500, 1000.0), (20, 10, 5000, 10_000.0))
    outcome = run(jobs_of(*taught, *busy, (21, 30, 300, 1000.0), (21, 10, 50, 100.0)), 30, "PYTHIA")
    assert outcome.granted.tolist()[2:] == [15, 5, 17, 5]
    assert outcome.start_s[5] == 21
    assert outcome.start_s[4] == 120


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_22_pythia_wastes_nothing_on_a_small_twin(kind: str) -> None:
    jobs = with_deadlines(twin("TR1", 1, jobs=3000), kind, 2250, 1)
    assert run(jobs, 2250, "PYTHIA", readable=False).plain()["wtr"] < 0.001


# --- Justice


@pytest.mark.slow
def test_25_with_fixed1x_no_job_waits_and_three_allocators_are_one() -> None:
    jobs = with_deadlines(twin("TR1", 2, jobs=3000), "Fixed1x", 2250, 2)
    three = [run(jobs, 2250, each, readable=False) for each in ("JUSTICE[rounding=literal]", "PYTHIA", "ORACLE")]
    plain = [one.plain() for one in three]
    for one, metrics in zip(three, plain, strict=True):
        started = ~np.isnan(one.start_s)
        started[:20] = False
        assert (one.start_s[started] == jobs.submit_s[started]).all()
        assert metrics["sdr"] == pytest.approx(plain[0]["sdr"], abs=0.002)
        assert metrics["ptr"] == pytest.approx(plain[0]["ptr"], abs=0.01)


def test_26_with_fixed2x_justice_gives_half_from_the_third_job_on() -> None:
    rows = [(100.0 * at, 10, 100.0, 20.0) for at in range(6)]
    assert run(jobs_of(*rows), 100, "JUSTICE").granted.tolist() == [10, 10, 5, 5, 5, 5]


def test_27_without_correction_the_distance_to_the_least_halves() -> None:
    rows = [(1000.0 * at, 64, 64.0 * 100, 200.0) for at in range(8)]
    granted = run(jobs_of(*rows), 64, "JUSTICE[correction=none]").granted.tolist()
    assert granted == [64, 64, 48, 40, 36, 34, 33, 33]


def test_28_large_late_jobs_are_killed_and_small_ones_run_on() -> None:
    # Justice gives half after two jobs that needed half; these need all.
    taught = ((0, 20, 1000, 100.0), (100, 20, 1000, 100.0))
    outcome = run(jobs_of(*taught, (300, 12, 1200, 100.0), (300, 4, 400, 100.0)), 100, "JUSTICE")
    assert ends(outcome)[2:] == ["killed", "missed"]
    assert outcome.consumed_s[2] == pytest.approx(600)
    assert outcome.finish_s[2] == 400
    # A later job is given more: the miss was learned.
    spared = run(jobs_of(*taught, (300, 12, 1200, 100.0)), 100, "JUSTICE[kill_threshold=-1]")
    assert ends(spared)[2] == "missed"


def test_29_the_literal_rounding_takes_jobs_of_one_task_for_wasteful() -> None:
    # One task with x = 3: rate 1/3, granted 1 of 1, error 1/x - 1. A large job is then given the least fraction.
    small = [(10.0 * at, 1, 5.0, 15.0) for at in range(12)]
    large = (200.0, 60, 60 * 10.0, 15.0)
    literal, unrounded = (
        run(jobs_of((0, 60, 600, 15.0), *small, large), 100, f"JUSTICE[rounding={each},correction=mean]").granted[-1]
        for each in ("literal", "unrounded")
    )
    assert literal == 20
    assert unrounded >= literal


# --- fair share


@pytest.mark.parametrize("allocator", ["BASELINE", "REACTIVE"])
def test_30_equal_jobs_share_and_a_later_one_gets_nothing(allocator: str) -> None:
    both = run(jobs_of((0, 100, 1000, inf), (0, 100, 1000, inf)), 100, f"{allocator}[top_up=0]")
    assert both.granted.tolist() == [50, 50]
    late = run(jobs_of((0, 100, 1000, inf), (5, 100, 1000, inf)), 100, allocator)
    assert late.start_s.tolist() == [0, 10]


def test_31_freed_cpus_go_to_who_holds_least() -> None:
    jobs = jobs_of((0, 10, 100, inf), (0, 200, 90 * 50.0, inf), (1, 10, 100, inf))
    outcome = run(jobs, 100, "BASELINE")
    assert outcome.granted.tolist()[2] == 10
    assert outcome.start_s[2] == 10


def test_32_reactive_frees_cpus_at_the_deadline_and_baseline_never_drops() -> None:
    jobs = jobs_of((0, 10, 1000, 50.0), (10, 10, 100, 60.0), (20, 10, 100, 10.0))
    reactive, baseline = run(jobs, 10, "REACTIVE"), run(jobs, 10, "BASELINE")
    assert ends(reactive) == ["killed", "met", "dropped"]
    assert (reactive.finish_s[0], reactive.start_s[1]) == (50, 50)
    assert set(ends(baseline)) <= {"met", "missed"}


# --- Oracle


def test_33_the_oracle_asks_for_exactly_what_is_needed() -> None:
    assert run(jobs_of((0, 50, 1000, 100.0)), 60, "ORACLE").granted.tolist() == [10]
    after_50 = jobs_of((0, 60, 60 * 51.0, 51.0), (1, 50, 1000, 100.0))
    assert run(after_50, 60, "ORACLE").granted.tolist() == [60, 20]
    after_81 = jobs_of((0, 60, 60 * 82.0, 82.0), (1, 50, 1000, 100.0))
    assert ends(run(after_81, 60, "ORACLE")) == ["met", "dropped"]


def test_38_the_order_of_service_can_be_chosen() -> None:
    taught = ((0, 1, 10, 10.0), (0, 1, 10, 10.0))
    both = ((20, 10, 90, 10.0), (21, 8, 80, 12.0), (22, 10, 100, 20.0))
    starts = {
        order: run(jobs_of(*taught, *both), 10, f"ORACLE[priority={order}]").start_s.tolist()[2:]
        for order in ("req/ttd", "ttd", "fifo")
    }
    assert all(start[0] == 20 for start in starts.values())


# --- policies of users


@pytest.mark.slow
def test_a_policy_that_asks_for_too_many_cpus_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "greedy.py"
    file.write_text(
        '"""Too much."""\nfrom fawkes.policy import Verdict\nNAME = "GREEDY"\n\n'
        "def admit(queue, memory):\n    return [Verdict(job.id, cpus=queue.total + 5) for job in queue.jobs]\n\n"
        "def learn(done, memory):\n    return None\n\ndef late(job, memory):\n    return False\n"
    )
    from fawkes.offline.studies.flat.play import policy_named

    allocator = parsed(str(file))
    found = policy_named(allocator, CATALOG)
    assert not is_compiled(found)
    with pytest.raises(ConfigError, match="CPUs") as error:
        play(jobs_of((0, 1, 1, 10.0)), 4, allocator, found)
    assert error.value.file == str(file)


def test_a_pool_without_cpus_is_refused() -> None:
    with pytest.raises(UserError, match="0 CPUs"):
        FlatPool(jobs_of((0, 1, 1, 10.0)), 0, admission_of(policy("FIFO"), parsed("FIFO")))


def test_no_jobs_are_no_work() -> None:
    plain = run(jobs_of(), 4, "PYTHIA").plain()
    assert (plain["jobs"], plain["sdr"], plain["ptr"], plain["utilisation"]) == (0, None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("readable", [True, False])
def test_deadlines_and_their_work_are_judged_of_the_jobs_that_have_one(readable: bool) -> None:
    jobs = jobs_of((0, 4, 40, 100.0), (10, 2, 10, inf), (20, 1, 5, 1.0), (120, 3, 30, inf))
    plain = run(jobs, 4, "REACTIVE", readable=readable).plain()
    assert [plain[key] for key in ("jobs", "due", "met", "finished", "sdr")] == [4, 2, 1, 2, 0.5]
    assert plain["ptr"] == pytest.approx(40 / 45)
    assert plain["ptr"] + plain["wtr"] + plain["unserved"] == pytest.approx(1)
    none = run(jobs_of((0, 4, 40, inf)), 4, "REACTIVE", readable=readable).plain()
    assert [none[key] for key in ("met", "due", "finished", "sdr", "ptr")] == [0, 0, 1, None, None]


@pytest.mark.slow
@pytest.mark.parametrize("readable", [True, False])
def test_use_of_jobs_that_all_come_at_once_is_not_known(readable: bool) -> None:
    """All is measured up to the last submission, and no time passes until then."""
    plain = run(jobs_of((0, 4, 40, 100.0), (0, 4, 40, 100.0)), 4, "REACTIVE", readable=readable).plain()
    assert plain["utilisation"] is None
    assert {group["existence"] for group in plain["idle"].values()} == {None}


def outcome_of(kind: str) -> FlatOutcome:
    return run(with_deadlines(twin("TR1", 1, jobs=3000), kind, 2250, 1), 2250, "JUSTICE", readable=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", VARIABLE)
def test_justice_lets_most_jobs_in(kind: str) -> None:
    assert outcome_of(kind).plain()["sdr"] > 0.5
