"""Offline runs under admission policies: who meets deadlines, what an oracle is told, and policies that fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.errors import ConfigError, DeadlineError, UserError
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Submitted
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.offline.outcomes.outcome import DEADLINES, Outcome, outcome_of
from fawkes.offline.outcomes.statistics import table_of
from fawkes.offline.runs.grid import grid_of, run_cell
from fawkes.offline.scenarios.load import Coming
from fawkes.offline.scenarios.plan import Plan
from fawkes.offline.scenarios.scenario import Scenario, simulate
from fawkes.policy.worker.asking import WorkerLimits
from fawkes.sim.hadoop.constants import PLAIN
from fawkes.sim.hadoop.model import TaskEvent
from tests.offline.support import CATALOG, SETTINGS, demand, plan, ready, two


def due(number: int, at_s: float, tasks: int, deadline_s: float | None, **profile: int) -> Coming:
    """A job of maps of 10 s."""
    spec = JobSpec(
        id=JobId(f"a-{number}"),
        cluster=ClusterId("a"),
        tasks=tasks,
        tasks_estimated=False,
        reference_us=10 * SECOND_US,
        deadline_us=None if deadline_s is None else round(deadline_s * SECOND_US),
        details={"profile": {"maps": tasks, "map_us": 10 * SECOND_US, **profile}},
    )
    return Coming(round(at_s * SECOND_US), spec)


#: four nodes of two slots: two that teach, a loose one, one that cannot be met, a tight one, one without a deadline
MIXED = (
    due(0, 0, 8, 60),
    due(1, 30, 8, 60),
    due(2, 60, 16, 120),
    due(3, 60, 16, 12),
    due(4, 61, 4, 25),
    due(5, 61, 8, None),
    due(6, 62, 8, 1),
)


def mixed(admission: str = "fifo", *come: Coming, **more: Any) -> Plan:
    mixed_demand = demand("a", 4)
    mixed_demand = replace(mixed_demand, once_running=come or MIXED)
    settings = {**SETTINGS, "admission": admission, **more}
    return replace(plan(mixed_demand, nodes=4, settings=settings), constants=PLAIN)


def ended(scenario: Scenario) -> Outcome:
    tasks: list[TaskEvent] = []
    return outcome_of(simulate(scenario, tasks=tasks), tasks)


def test_under_fifo_hopeless_jobs_waste_tasks_and_under_justice_they_do_not_begin() -> None:
    fifo, justice = ended(ready(mixed())).due, ended(ready(mixed("justice"))).due
    assert fifo is not None
    assert justice is not None
    assert (fifo.jobs_due, fifo.jobs_dropped, fifo.jobs_killed) == (6, 0, 0)
    assert justice.jobs_dropped > 0
    assert justice.jobs_met >= fifo.jobs_met
    assert (justice.wasted_s or 0) < (fifo.wasted_s or 0)
    for outcome in (fifo, justice):
        assert outcome.jobs_met + outcome.jobs_missed + outcome.jobs_dropped + outcome.jobs_killed == outcome.jobs_due
        assert outcome.sdr == outcome.jobs_met / 6


def test_wasted_are_the_task_seconds_of_jobs_that_miss() -> None:
    due_jobs = ended(ready(mixed("fifo", due(0, 0, 8, 9), due(1, 0, 8, 1000)))).due
    assert due_jobs is not None
    assert (due_jobs.jobs_met, due_jobs.jobs_missed, due_jobs.wasted_s) == (1, 1, 80.0)


@pytest.mark.slow
def test_a_run_without_deadlines_has_no_figures_of_them() -> None:
    plain = ended(ready(two())).plain()
    assert not set(DEADLINES) & {*plain, *(key for row in plain["clusters"] for key in row)}
    assert "due" not in plain


def specs(scenario: Scenario) -> list[JobSpec]:
    return [wish.event.spec for wish in scenario.wishes if isinstance(wish.event, Submitted)]


def test_only_an_oracle_is_told_the_work_of_jobs() -> None:
    assert [spec.work_us for spec in specs(ready(mixed("oracle")))][:3] == [80 * SECOND_US, 80 * SECOND_US, 160 * 10**6]
    for other in ("fifo", "justice", "pythia"):
        assert {spec.work_us for spec in specs(ready(mixed(other)))} == {None}


def test_an_oracle_lets_in_only_what_it_can_keep() -> None:
    due_jobs = ended(ready(mixed("oracle"))).due
    assert due_jobs is not None
    assert (due_jobs.jobs_missed, due_jobs.jobs_killed, due_jobs.wasted_s) == (0, 0, 0.0)


def test_a_rigid_job_keeps_no_grant_and_is_let_in_only_where_the_site_says_so() -> None:
    come = (due(0, 0, 4, 100, gang=1),)
    with pytest.raises(UserError, match="rigid"):
        simulate(ready(mixed("justice", *come)))
    due_jobs = ended(ready(mixed("justice", *come, admit_unkept=True))).due
    assert due_jobs is not None
    assert due_jobs.jobs_met == 1
    assert {spec.unkept for spec in specs(ready(mixed("fifo", *come)))} == {""}


def test_jobs_behind_a_dropped_one_come() -> None:
    last = replace(due(9, 0, 2, None), after=("a-6",))
    assert ended(ready(mixed("justice", *MIXED, last))).jobs == 8


def test_parameters_of_one_admission_policy_are_nothing_for_another() -> None:
    chosen = mixed("justice", admission_parameters={"kill_threshold": 3}, learn_from_pool=True)
    assert ready(chosen).settings.admission_parameters == {"kill_threshold": 3}
    for other in ("pythia", "fifo"):
        settings = ready(chosen, admission=other).settings
        assert (settings.admission_parameters, settings.learn_from_pool) == ({}, False)
    both: dict[str, Any] = {"admission_parameters.bootstrap": 3, "admission": "pythia"}
    assert ready(chosen, **both).settings.admission_parameters == {"bootstrap": 3}


def test_each_admission_policy_is_a_row_beside_each_weighting_policy() -> None:
    variants: dict[str, dict[str, Any]] = {f"admission={name}": {"admission": name} for name in ("fifo", "justice")}
    policies = [CATALOG.find(Kind.POLICY, name) for name in ("TD", "EQ")]
    grid = grid_of(lambda changes: mixed(), CATALOG, policies, variants, replays=1, spread_us=0)
    rows = [run_cell(grid, cell) for cell in grid.cells]
    table = table_of(rows, "EQ")
    assert [(row["policy"], row["settings"]) for row in table] == [
        (policy, f"admission={name}") for name in ("fifo", "justice") for policy in ("TD", "EQ")
    ]
    assert all(set(DEADLINES) <= row.keys() for row in table)
    assert table[0]["sdr"] <= table[2]["sdr"]


_HEAD = '"""Mine."""\nfrom fawkes.policy import Verdict\nNAME = "MINE"\n'
_REST = "def learn(done, memory):\n    return None\ndef late(job, memory):\n    return False\n"


def mine(tmp_path: Path, body: str) -> Plan:
    file = tmp_path / "mine.py"
    file.write_text(f"{_HEAD}def admit(queue, memory):\n    {body}\n{_REST}")
    return mixed(str(file))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said", "line"),
    [
        ("return [] if not queue.fixed else [Verdict('x', 1)]", "'x' is not in the queue", ""),
        ("return [] if not queue.fixed else 1 / 0", "ZeroDivisionError", "line 5"),
        ("return [Verdict(job.id, -1) for job in queue.jobs if queue.fixed]", "is granted -1", ""),
        ("return [Verdict(job.id, 1.5) for job in queue.jobs if queue.fixed]", "is granted '1.5'", ""),
        ("return [Verdict(job.id, 99) for job in queue.jobs if queue.fixed]", "99 CPUs for 8 tasks", ""),
    ],
)
def test_a_policy_that_fails_ends_the_run_with_its_name_and_line(
    tmp_path: Path, body: str, said: str, line: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        simulate(ready(mine(tmp_path, body)))
    assert said in caught.value.what
    assert "the admission policy MINE gave no usable answer for a" in caught.value.what
    assert (caught.value.file, caught.value.key) == (str(tmp_path / "mine.py"), line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return [] if not queue.fixed else [range(10**9)[9 ** 9 ** 9]]", "took more than 1 s"),
        ("return [] if not queue.fixed else list(range(10**9))", "needs more than 200"),
    ],
)
def test_a_call_that_takes_too_much_is_ended(tmp_path: Path, body: str, said: str) -> None:
    bounds = WorkerLimits(time_s=1.0, memory_bytes=200 * 10**6)
    with pytest.raises(ConfigError, match="MINE gave no usable answer") as caught:
        simulate(ready(replace(mine(tmp_path, body), bounds=bounds)))
    assert said in caught.value.what
    assert "for a queue of" in caught.value.what
    assert "[bounds]" in caught.value.hint


def test_a_file_of_a_site_decides_as_the_bundled_one(tmp_path: Path) -> None:
    copy = tmp_path / "justice.py"
    copy.write_text((Path(__file__).parents[3] / "policies/admission/justice.py").read_text())
    ours, theirs = (ended(ready(mixed(name))) for name in ("justice", str(copy)))
    assert ours == theirs


def test_reference_times_are_those_without_an_admission_policy() -> None:
    come = tuple(replace(job, spec=replace(job.spec, reference_us=None)) for job in MIXED)
    times = [
        [spec.reference_us for spec in specs(ready(mixed(name, *come)))] for name in ("fifo", "justice", "reactive")
    ]
    assert times[0] == times[1] == times[2]


@pytest.mark.slow
def test_a_job_that_a_policy_never_lets_in_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(DeadlineError, match="a-5 waits in a: the admission policy MINE neither lets it in") as caught:
        simulate(ready(mine(tmp_path, "return [Verdict(job.id, drop=True) for job in queue.jobs if job.deadline_s]")))
    assert "Change the admission policy" in caught.value.hint


@pytest.mark.slow
def test_a_wrong_parameter_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="no parameter 'spare'") as caught:
        mixed("justice", admission_parameters={"spare": 2}).scenario(CATALOG)
    assert (caught.value.file, caught.value.key) == ("small", "admission_parameters.spare")
