"""The admission policies that come with Fawkes, by the worked values of the dissertation (fact sheet 4.1, 18 to 33)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError
from fawkes.core.state.admitting import Admission, Done, Job, Queue, Verdict, checked, fill
from fawkes.core.values.model import Plain
from fawkes.policy import policy_text
from fawkes.policy.admission import compile_admission
from tests.support.pools import admission

NAMES = ("baseline", "fifo", "justice", "oracle", "pythia", "reactive")


def policy(name: str, **parameters: Plain) -> Admission:
    return compile_admission(admission(name), parameters)


def learned(by: Admission, *jobs: Done) -> Plain:
    memory: Plain = None
    for done in jobs:
        memory = by.learn(done, memory)
    return memory


def ended(
    rate: float, *, granted: int = 100, met: bool = True, killed: bool = False, share: float | None = None
) -> Done:
    """A job of 100 tasks on 2,250 CPUs that needed this fraction of them."""
    return Done(100, 100.0, rate * 100 * 100, granted, 2250, met, killed)


def verdict_of(
    by: Admission, memory: Plain, *, tasks: int = 100, deadline_s: float = 100.0, waited_s: float = 0.0
) -> Verdict:
    """The verdict on one waiting job on 2,250 free CPUs."""
    (verdict,) = by.admit(Queue([Job("a", tasks, deadline_s, waited_s)], 2250, 2250), memory)
    return verdict


def granted(verdicts: object) -> dict[str, int]:
    assert isinstance(verdicts, list)
    return {each.job: each.cpus for each in verdicts}


def test_all_are_found_by_name() -> None:
    assert tuple(policy.name for policy in Catalog().all(Kind.ADMISSION)) == NAMES


def test_only_the_oracle_must_know_the_work() -> None:
    assert [name for name in NAMES if policy(name).needs_work] == ["oracle"]


# --- PYTHIA


def test_pythia_remembers_the_largest_fraction() -> None:
    pythia = policy("pythia")
    memory: Plain = None
    seen = []
    for rate in (0.2, 0.5, 0.3):
        memory = pythia.learn(ended(rate), memory)
        assert isinstance(memory, list)
        seen.append(memory[1])
    assert seen == [0.2, 0.5, 0.5]


def test_a_hopeless_job_teaches_pythia_nothing_unless_it_is_told_so() -> None:
    hopeless = ended(7.0)
    assert learned(policy("pythia"), ended(0.5), hopeless) == [2, 0.5]
    assert learned(policy("pythia", clamp=0), ended(0.5), hopeless) == [2, 7.0]


@pytest.mark.parametrize(
    ("waited_s", "cpus", "dropped"), [(0, 50, False), (25, 67, False), (60, 0, True), (100, 0, True)]
)
def test_pythia_asks_for_more_the_longer_a_job_has_waited(waited_s: float, cpus: int, dropped: bool) -> None:
    pythia = policy("pythia")
    verdict = verdict_of(pythia, learned(pythia, ended(0.5), ended(0.5)), waited_s=waited_s)
    assert (verdict.cpus, verdict.drop) == (cpus, dropped)


def test_a_job_of_one_task_gets_one_cpu() -> None:
    pythia = policy("pythia")
    assert verdict_of(pythia, learned(pythia, ended(0.5), ended(0.5)), tasks=1).cpus == 1


def test_the_first_two_jobs_get_what_is_free() -> None:
    pythia = policy("pythia")
    queue = Queue([Job("a", 100, 50.0, 0.0)], total=2250, free=30)
    assert granted(pythia.admit(queue, learned(pythia, ended(0.5)))) == {"a": 30}
    assert granted(pythia.admit(queue, learned(pythia, ended(0.5), ended(0.5)))) == {"a": 0}


def test_who_does_not_fit_is_passed_over() -> None:
    pythia = policy("pythia")
    memory = learned(pythia, ended(0.5), ended(0.5))
    waiting = [Job("wide", 40, 10_000.0, 0.0), Job("small", 10, 100.0, 0.0)]
    verdicts = pythia.admit(Queue(waiting, total=2250, free=10), memory)
    assert [(each.job, each.cpus, each.asked) for each in verdicts] == [("wide", 0, 20), ("small", 5, 5)]


def test_nothing_is_hopeless_on_a_cluster_that_has_lost_all_its_nodes() -> None:
    pythia = policy("pythia")
    waiting = [Job("a", 10, 100.0, 0.0), Job("late", 10, 100.0, 100.0), Job("free", 10, None, 0.0)]
    verdicts = pythia.admit(Queue(waiting, total=0, free=-4), learned(pythia, ended(0.5), ended(0.5)))
    assert [(each.job, each.drop) for each in verdicts] == [("late", True)]


def test_jobs_without_a_deadline_take_the_rest() -> None:
    pythia = policy("pythia")
    waiting = [Job("free", 100, None, 50.0), Job("due", 40, 100.0, 0.0)]
    verdicts = pythia.admit(Queue(waiting, total=60, free=60), learned(pythia, ended(0.5), ended(0.5)))
    assert granted(verdicts) == {"due": 20, "free": 40}


@pytest.mark.parametrize(("priority", "first"), [("req/ttd", "long"), ("ttd", "short"), ("fifo", "old")])
def test_priority_is_an_option(priority: str, first: str) -> None:
    pythia = policy("pythia", priority=priority)
    waiting = [Job("old", 80, 50.0, 0.0), Job("short", 80, 20.0, 0.0), Job("long", 80, 900.0, 0.0)]
    verdicts = pythia.admit(Queue(waiting, total=2250, free=40), learned(pythia, ended(0.5), ended(0.5)))
    assert [each.job for each in verdicts if each.cpus] == [first]


# --- JUSTICE


@pytest.mark.parametrize(("met", "fraction"), [(True, 0.325), (False, 0.45)])
def test_justice_is_between_the_last_job_and_the_least_or_the_most(met: bool, fraction: float) -> None:
    justice = policy("justice", correction="none")
    memory = learned(justice, ended(0.25), ended(0.5, granted=40, met=met))
    assert verdict_of(justice, memory).why["fraction"] == pytest.approx(fraction)


def test_justice_corrects_by_the_mean_error_and_stays_above_the_least() -> None:
    justice = policy("justice")
    memory = {
        "completed": 2,
        "counted": 2,
        "rates": 0.75,
        "errors": -0.05,
        "ema": -0.1,
        "recent": [],
        "min": 0.25,
        "max": 0.5,
        "last": 0.4,
        "met": True,
    }
    assert verdict_of(justice, memory).why["fraction"] == pytest.approx(0.3)
    assert verdict_of(justice, {**memory, "errors": -0.5}).why["fraction"] == 0.25
    assert verdict_of(justice, {**memory, "errors": 9.0}).why["fraction"] == 1.0
    assert verdict_of(justice, {**memory, "errors": 9.0}, waited_s=1.0).drop, "the queue factor comes after the clamp"
    assert verdict_of(policy("justice", correction="ema"), memory).why["correction"] == -0.1
    assert verdict_of(policy("justice", fraction="average", correction="none"), memory).why["fraction"] == 0.375


def test_after_successes_justice_halves_its_distance_to_the_least() -> None:
    justice = policy("justice", correction="none")
    memory = learned(justice, ended(0.25), ended(0.5, granted=100))
    distances = []
    for _ in range(6):
        cpus = verdict_of(justice, memory, tasks=2000).cpus
        distances.append(cpus / 2000 - 0.25)
        memory = justice.learn(Done(2000, 100.0, 0.3 * 2000 * 100, cpus, 2250, True, False), memory)
    assert all(later == pytest.approx(earlier / 2, abs=0.001) for earlier, later in pairwise(distances))


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_equal_jobs_get_their_rate_from_the_third_on(rate: float) -> None:
    justice = policy("justice")
    memory = learned(justice, ended(rate), ended(rate))
    assert verdict_of(justice, memory).cpus == rate * 100


def test_the_printed_error_of_small_jobs_is_biased() -> None:
    """A job of one task always has all that it can use: its error is 1/x - 1 (sheet I-5.4)."""
    small = Done(1, 200.0, 100.0, 1, 2250, True, False, {"share": 0.5})
    literal = learned(policy("justice", rounding="literal"), small)
    unrounded = learned(policy("justice"), small)
    assert isinstance(literal, dict)
    assert isinstance(unrounded, dict)
    assert (literal["errors"], unrounded["errors"]) == (-0.5, 0.0)


@pytest.mark.parametrize(("option", "met", "counted"), [("none", True, 1), ("flag", False, 1), ("work", False, 2)])
def test_what_a_killed_job_teaches_is_an_option(option: str, met: bool, counted: int) -> None:
    memory = learned(policy("justice", learn_killed=option), ended(0.5), ended(0.9, granted=40, met=False, killed=True))
    assert isinstance(memory, dict)
    assert (memory["met"], memory["counted"]) == (met, counted)


def test_justice_can_forget() -> None:
    memory = learned(policy("justice", window=2), ended(0.1), ended(0.5), ended(0.4))
    assert isinstance(memory, dict)
    assert (memory["min"], memory["max"], memory["completed"]) == (0.4, 0.5, 3)


def test_justice_ends_large_jobs_that_are_late() -> None:
    justice, printed = policy("justice"), policy("justice", kill_threshold=0)
    runs, waits = Job("a", 10, 5.0, 5.0, granted=3), Job("a", 10, 5.0, 5.0)
    assert (justice.late(runs, None), printed.late(runs, None), justice.late(waits, None)) == (False, True, True)


# --- fair shares, oracle


def test_equal_parts_are_filled_progressively() -> None:
    baseline = policy("baseline")
    two = [Job("a", 100, None, 0.0), Job("b", 100, None, 0.0)]
    assert granted(baseline.admit(Queue(two, 100, 100), None)) == {"a": 50, "b": 50}
    held = [Job("a", 100, None, 0.0, granted=100), Job("b", 100, None, 0.0)]
    assert granted(baseline.admit(Queue(held, 100, 0), None)) == {"b": 0}
    freed = [Job("wide", 200, None, 0.0, granted=90), Job("new", 10, None, 0.0)]
    assert granted(baseline.admit(Queue(freed, 100, 10), None)) == {"new": 10}


def test_a_running_job_gets_more_only_where_that_can_be() -> None:
    alone = [Job("a", 100, None, 0.0, granted=10)]
    assert granted(policy("baseline").admit(Queue(alone, 100, 90), None)) == {"a": 100}
    assert granted(policy("baseline", top_up=0).admit(Queue(alone, 100, 90), None)) == {}
    assert granted(policy("baseline").admit(Queue(alone, 100, 90, fixed=True), None)) == {}


def test_only_reactive_ends_a_job_that_runs_late() -> None:
    late = Job("a", 1, 5.0, 5.0, granted=1)
    assert [name for name in NAMES if policy(name).late(late, None)] == ["reactive"]


@pytest.mark.parametrize(("waited_s", "cpus", "dropped"), [(0, 10, False), (50, 20, False), (81, 0, True)])
def test_the_oracle_asks_for_what_a_job_needs(waited_s: float, cpus: int, dropped: bool) -> None:
    job = Job("a", 50, 100.0, waited_s, work_s=1000.0)
    (verdict,) = policy("oracle").admit(Queue([job], 2250, 2250), None)
    assert (verdict.cpus, verdict.drop) == (cpus, dropped)


# --- laws

jobs = st.lists(
    st.tuples(
        st.integers(1, 50), st.none() | st.floats(1, 100), st.floats(0, 120), st.integers(0, 5), st.floats(1, 5000)
    ),
    max_size=12,
)


@pytest.mark.slow
@given(st.sampled_from(NAMES), jobs, st.integers(0, 40), st.lists(st.floats(0.01, 1), max_size=4))
def test_every_policy_grants_no_more_than_is_free(
    name: str, drawn: list[tuple[int, float | None, float, int, float]], spare: int, rates: list[float]
) -> None:
    running = [
        Job(f"j{n}", tasks, due, waited, min(held, tasks), work)
        for n, (tasks, due, waited, held, work) in enumerate(drawn)
    ]
    held = sum(job.granted for job in running)
    queue = Queue(running, total=max(50, held + spare), free=max(50, held + spare) - held)
    by = _COMPILED[name]
    verdicts = checked(queue, by.admit(queue, learned(by, *map(ended, rates))))
    assert not any(verdict.drop and verdict.cpus for verdict in verdicts)


_COMPILED = {name: policy(name) for name in NAMES}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 60))
def test_filling_is_max_min_fair(tasks: list[int], free: int) -> None:
    queue = Queue([Job(f"j{n}", each, None, 0.0) for n, each in enumerate(tasks)], total=60, free=free)
    got = granted(fill(queue, top_up=False))
    assert sum(got.values()) == min(free, sum(tasks))
    hungry = [got[f"j{n}"] for n, each in enumerate(tasks) if got[f"j{n}"] < each]
    assert max(got.values()) <= min(hungry, default=60) + 1


# --- bad policies

_GOOD = """
NAME = "X"
def admit(queue, memory): return []
def learn(done, memory): return None
def late(job, memory): return False
"""


def text(body: str, tmp_path: Path, **parameters: Plain) -> Admission:
    return compile_admission(policy_text("x", str(tmp_path / "x.py"), body), parameters)


def test_a_file_that_lacks_a_function_is_no_admission_policy(tmp_path: Path) -> None:
    text(_GOOD, tmp_path)
    with pytest.raises(ConfigError, match="not a policy"):
        text(_GOOD.replace("def late", "def later"), tmp_path)


def test_a_memory_that_is_not_the_second_parameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x\.py: learn: `memory` is not the second parameter"):
        text(_GOOD.replace("def learn(done, memory)", "def learn(done, keep=0.5, memory=None)"), tmp_path)


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="has no parameter 'kil_threshold'") as caught:
        policy("justice", kil_threshold=3)
    assert "kill_threshold" in str(caught.value.hint)


@pytest.mark.parametrize("parameters", [{"priority": "best"}, {"correction": "kalman"}, {"rounding": "up"}])
def test_a_value_that_a_policy_does_not_know_is_said_when_it_is_loaded(parameters: dict[str, Plain]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(parameters))} is "):
        policy("justice", **parameters)


def test_a_policy_that_loops_or_fails_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="more than 2"):
        text(_GOOD.replace("return []", "\n    while True: pass"), tmp_path)
    with pytest.raises(ConfigError, match="ZeroDivisionError: division by zero, line 3"):
        text(_GOOD.replace("return []", "return [1 / 0]"), tmp_path)


def test_a_value_for_which_a_policy_fails_is_said_with_the_line_of_the_policy(tmp_path: Path) -> None:
    body = _GOOD.replace("admit(queue, memory): return []", "admit(queue, memory, part=1): return [][: 1 // part]")
    text(body, tmp_path)
    with pytest.raises(ConfigError, match=r"ZeroDivisionError: .*, line 3 of .*x\.py") as caught:
        text(body, tmp_path, part=0)
    assert caught.value.key == "admission_parameters"


_QUEUE = Queue([Job("a", 4, 10.0, 0.0), Job("b", 4, 10.0, 0.0, granted=2)], total=6, free=4, fixed=True)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (None, "no list of verdicts"),
        ([1], "no Verdict"),
        ([Verdict("c", 1)], "not in the queue"),
        ([Verdict("a", 1), Verdict("a", 1)], "named twice"),
        ([Verdict("a", -1)], "no number of CPUs"),
        ([Verdict("a", 1.5)], "no number of CPUs"),  # type: ignore[arg-type]
        ([Verdict("a", True)], "no number of CPUs"),
        ([Verdict("a", 1, asked=-1)], "asks for -1"),
        ([Verdict("a", 1, why={"f": float("nan")})], "no finite number"),
        ([Verdict("a", 5)], "5 CPUs for 4 tasks"),
        ([Verdict("b", 3)], "cannot change"),
        ([Verdict("b", drop=True)], "dropped, but runs"),
        ([Verdict("a", 1, drop=True)], "dropped, but is granted"),
    ],
)
def test_a_wrong_verdict_is_named(verdicts: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked(_QUEUE, verdicts)


@pytest.mark.parametrize("answer", ["float('nan')", "'no'", "None", "1"])
def test_whether_a_late_job_is_ended_is_true_or_false(answer: str) -> None:
    """A mistake would end the job."""
    text = f"""
NAME = "X"
def admit(queue, memory): return []
def learn(done, memory): return memory
def late(job, memory): return {answer}
"""
    with pytest.raises(ConfigError, match=r"late answered .*, and must answer True or False"):
        compile_admission(policy_text("X", "x.py", text), {})


def test_more_than_is_free_is_refused() -> None:
    queue = Queue([Job("a", 4, 10.0, 0.0), Job("c", 4, 10.0, 0.0)], total=6, free=4)
    assert checked(queue, [Verdict("a", 4)])
    with pytest.raises(ValueError, match="5 CPUs are granted, and 4 are free"):
        checked(queue, [Verdict("a", 4), Verdict("c", 1)])
