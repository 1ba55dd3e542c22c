"""Tasks that have to go in a simulated world: the core decides as it does live, and policies differ in what is lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import JobDetails, TaskArray
from fawkes.core.preemption.account import Account, Accounts
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import Facts, JobLife, JobState, Role
from fawkes.engine import replay
from fawkes.engine.ports import Entry
from fawkes.offline.scenarios.scenario import Scenario, pool_of, simulate
from fawkes.policy import compile_policy, policy_text
from fawkes.policy.admission import compile_admission
from fawkes.policy.preemption import compile_preemption
from fawkes.sim.hadoop.constants import PLAIN
from fawkes.sim.users import Wish
from tests.support.pools import bundled, policy, request, settings, submit

KILL, SAVE, WAIT, ADAPTIVE = "kill", "checkpoint", "wait", "adaptive"
TASK_S = 200


def job(name: str, number: int, at_s: float, tasks: int, *, checkpoint: str = "own", **facts: Any) -> Wish:
    """A job of tasks of 200 s, each with 100 MB."""
    array = TaskArray(memory_mb=100, checkpoint=checkpoint, task_us=facts.pop("task_s", TASK_S) * SECOND_US)
    details = JobDetails(kind="tasks", title="", array=array).plain()
    saves = checkpoint != "none"
    event = submit(name, number, at_s, tasks, saves=saves, **facts)
    return Wish(event=replace(event, spec=replace(event.spec, details=details)))


def scenario_of(text: PolicyText, wishes: Iterable[Wish], **changes: Any) -> Scenario:
    how = settings(
        preemption=text.name,
        image_bytes_s=20_000_000,
        growth=Role.TRANSIENT,
        transient_leave_us=1000 * SECOND_US,
        **changes,
    )
    return Scenario(
        name="s",
        nodes=pool_of(6),
        settings=how,
        policy=policy(),
        preemption=text,
        wishes=tuple(wishes),
        constants=PLAIN,
        check=True,
    )


def entries(name: str, wishes: Iterable[Wish], **changes: Any) -> tuple[Entry, ...]:
    """All steps of a run under a preemption policy; every decision in it comes again."""
    steps = tuple(simulate(scenario_of(bundled(Kind.PREEMPTION, name), wishes, **changes)).entries())
    assert list(replay(steps, compile_policy, compile_admission, compile_preemption)) == []
    return steps


def said(steps: Iterable[Entry], code: str) -> list[Facts]:
    return [reason.facts for step in steps for reason in step.decision.reasons if reason.code == code]


def ended(steps: Iterable[Entry]) -> dict[str, JobState]:
    states = (change.state for step in steps for change in step.decision.changes if isinstance(change, PutJob))
    return {state.id: state for state in states if state.finished_us is not None}


def moving() -> list[Wish]:
    """MR-cluster a has all nodes and long tasks when b needs some."""
    wishes = [Wish(event=request("a", 0)), Wish(event=request("b", 100)), job("a", 1, 1, 40)]
    wishes.append(job("b", 1, 110, 40, checkpoint="none", task_s=10))
    return wishes


@cache
def moved(name: str) -> tuple[Entry, ...]:
    return entries(name, moving())


@cache
def urgent(name: str) -> tuple[Entry, ...]:
    """An important job arrives where long tasks hold all slots."""
    wishes = [Wish(event=request("a", 0, 6)), job("a", 1, 1, 6 * PLAIN.slots)]
    return entries(name, [*wishes, job("a", 2, 60, 4, priority=5, task_s=10)])


@pytest.mark.parametrize("runs", [moved, urgent])
def test_every_job_ends_well_under_each_policy(runs: Any) -> None:
    for name in (KILL, SAVE, WAIT, ADAPTIVE):
        lives = {state.life for state in ended(runs(name)).values()}
        assert lives == {JobLife.SUCCEEDED}


@pytest.mark.parametrize("runs", [moved, urgent])
@pytest.mark.parametrize(("name", "how"), [(KILL, "killed"), (SAVE, "saved")])
def test_tasks_go_as_their_policy_says(runs: Any, name: str, how: str) -> None:
    went = said(runs(name), "task-went")
    assert went
    assert {facts["how"] for facts in went} == {how}


def test_a_policy_that_waits_lets_none_go_before_its_time() -> None:
    assert said(moved(WAIT), "task-went") == []
    assert said(urgent(WAIT), "task-went") == []


def test_nodes_are_free_sooner_when_their_tasks_are_saved_than_when_they_are_waited_for() -> None:
    def drained_us(name: str) -> int:
        return next(step.event.at_us for step in moved(name) if any(r.code == "drained" for r in step.decision.reasons))

    assert drained_us(SAVE) < drained_us(WAIT)


def test_an_important_job_is_done_sooner_when_others_go_for_it() -> None:
    took = {name: ended(urgent(name))["a-2"].finished_us or 0 for name in (KILL, SAVE, WAIT)}
    assert max(took[KILL], took[SAVE]) < took[WAIT]


def test_the_others_lose_less_when_they_are_saved() -> None:
    took = {name: ended(urgent(name))["a-1"].finished_us or 0 for name in (KILL, SAVE)}
    assert took[SAVE] < took[KILL]


def test_runs_without_such_tasks_are_as_they_were() -> None:
    wishes = [Wish(event=request("a", 0)), job("a", 1, 1, 10, checkpoint="none")]
    first, second = (entries(name, wishes) for name in (KILL, SAVE))
    assert first == second
    assert said(first, "task-must-go") == []


def account(name: str, runs: Any) -> Account:
    accounts = Accounts()
    for step in runs(name):
        accounts.follow(step.event, step.decision.reasons)
    return accounts.of_job("a-1")


@pytest.mark.parametrize("runs", [moved, urgent])
def test_what_is_wasted_is_accounted_under_each_policy(runs: Any) -> None:
    kill, save, wait = (account(name, runs) for name in (KILL, SAVE, WAIT))
    assert (kill.killed, kill.saved, kill.waste.dumping_s) == (len(said(runs(KILL), "task-went")), 0, 0.0)
    assert kill.waste.killed_s > save.waste.killed_s == wait.waste.wasted_s == 0.0
    assert (save.saved, save.unseen) == (len(said(runs(SAVE), "task-went")), 0)
    assert save.waiting_s > 0.0


@pytest.mark.parametrize("runs", [moved, urgent])
@pytest.mark.parametrize("name", [KILL, SAVE, WAIT])
def test_the_useful_time_is_that_of_the_work(runs: Any, name: str) -> None:
    tasks = ended(runs(name))["a-1"].spec.tasks
    assert account(name, runs).useful_s == pytest.approx(tasks * TASK_S, rel=0.05)


@pytest.mark.slow
def test_a_policy_that_fails_ends_the_run_with_its_file_and_line() -> None:
    body = "def preempt(victims): return [1 / (victims[0].id[:5] == 'probe') and Choice('kill') for each in victims]"
    text = policy_text("MINE", "mine.py", f'from fawkes.policy import Choice\nNAME = "MINE"\n{body}\n')
    with pytest.raises(
        ConfigError, match=r"the preemption policy MINE gave no usable answer for a, .* after"
    ) as caught:
        simulate(scenario_of(text, moving()))
    assert "ZeroDivisionError" in caught.value.what
    assert (caught.value.file, caught.value.key) == ("mine.py", "line 3")
