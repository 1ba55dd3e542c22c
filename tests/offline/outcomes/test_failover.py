"""The cost of lost masters in an offline run: time without them, jobs that began again, tasks done in vain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fawkes.base.errors import DeadlineError
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, NodeId, Promise
from fawkes.offline.outcomes.failover import IDLE_CORES, JOURNALNODE_S, MASTERS, NAMENODE_S, NO_LOSS
from fawkes.offline.outcomes.outcome import Outcome, outcome_of
from fawkes.offline.scenarios.scenario import simulate
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.model import TaskEvent
from tests.offline.support import demand, jobs, limited, plan, ready

#: the preset `paper` with its patience: silent for 30 s, then waited for
PATIENT = {"preset": "paper", "period": "20s", "idle_time": "never"}
LOST_S = 75


def outcome(
    *losses: Loss, lost_after: str = "20s", min_nodes: int = 3, masters: Promise = Promise.KEPT
) -> tuple[Outcome, list[TaskEvent]]:
    """Two MR-clusters with jobs, of which one may lose its masters."""
    settings = {**PATIENT, "patience": {"masters_lost": lost_after, "journal": "10m"}}
    a = demand("a", min_nodes, come=jobs("a", 6))
    both = (replace(a, spec=replace(a.spec, masters=masters)), demand("b", 2, come=jobs("b", 2)))
    scenario = ready(plan(*both, settings=settings, losses=losses))
    tasks: list[TaskEvent] = []
    return outcome_of(simulate(scenario, tasks=tasks), tasks, with_losses=bool(losses)), tasks


def lost(back_s: int | None = None) -> Loss:
    back_us = None if back_s is None else back_s * SECOND_US
    return Loss(NodeId(""), LOST_S * SECOND_US, back_us, masters_of=ClusterId("a"))


def run_before(tasks: Sequence[TaskEvent], cluster: str) -> float:
    """Task-seconds of the first attempts of jobs that have a second one."""
    again = {event.job for event in tasks if event.attempt == 2 and event.cluster == cluster}
    ends = sum(e.at_us for e in tasks if e.job in again and e.attempt == 1 and e.what != "start")
    starts = sum(e.at_us for e in tasks if e.job in again and e.attempt == 1 and e.what == "start")
    return (ends - starts) / SECOND_US


def test_masters_that_move_cost_the_silence_the_patience_and_the_move() -> None:
    result, tasks = outcome(lost())
    a, b = (row.masters for row in result.clusters)
    assert a is not None
    assert a.masters_away_s == pytest.approx(30 + 20 + 0.75 + 15)
    assert (a.masters_moves, a.masters_lacks_s) == (1, 1.0)
    assert a.jobs_again > 0
    assert a.work_again_s == pytest.approx(run_before(tasks, "a"))
    assert b == NO_LOSS
    assert result.masters == a
    assert result.failed_jobs == 0


def test_a_second_name_node_costs_a_short_silence_and_the_takeover_but_no_job() -> None:
    result, _ = outcome(lost(), masters=Promise.STANDBY)
    a, b = (row.masters for row in result.clusters)
    assert a is not None
    assert a.masters_away_s == pytest.approx(2 + 0.75 + 5)
    assert (a.masters_moves, a.masters_lacks_s, a.jobs_again, a.work_again_s) == (1, 0, 0, 0)
    assert b == NO_LOSS
    assert result.failed_jobs == 0


def test_what_a_second_name_node_takes_of_the_processors_is_told() -> None:
    """Four daemons once, one more after the takeover, and a little all the time."""
    result, _ = outcome(lost(), masters=Promise.STANDBY)
    assert result.masters is not None
    starts_s = 2 * NAMENODE_S + 3 * JOURNALNODE_S
    assert starts_s < result.masters.standby_cpu_s < starts_s + IDLE_CORES * 2 * result.makespan_s
    assert result.makespan_s - 60 < result.masters.standby_s < result.makespan_s + 60
    kept, _ = outcome(lost())
    assert kept.masters is not None
    assert (kept.masters.standby_s, kept.masters.standby_cpu_s) == (0, 0)


def test_a_new_journal_costs_its_daemons_and_the_program_that_begins_it() -> None:
    """Two of three nodes are lost: the masters come back without a journal, and get one once all are there again."""
    others = [NodeId("node02"), NodeId("node03")]
    losses = [Loss(node, (LOST_S + n) * SECOND_US, (LOST_S + 40) * SECOND_US) for n, node in enumerate(others)]
    result, _ = outcome(*losses, masters=Promise.STANDBY)
    assert result.masters is not None
    assert result.masters.masters_moves == 1
    # Deployed with a second NameNode; the program, the NameNode and the journal again; then a second one again.
    starts_s = 4 * NAMENODE_S + 6 * JOURNALNODE_S
    assert starts_s < result.masters.standby_cpu_s < starts_s + IDLE_CORES * 2 * result.makespan_s


def test_masters_whose_node_is_back_in_time_cost_no_job() -> None:
    result, _ = outcome(lost(back_s=LOST_S + 40))
    assert result.masters is not None
    assert (result.masters.masters_moves, result.masters.jobs_again, result.masters.work_again_s) == (0, 0, 0)
    assert 40 <= result.masters.masters_away_s < 90


def test_less_patience_costs_less_time_without_masters() -> None:
    away = []
    for lost_after in ("10s", "2m"):
        result, _ = outcome(lost(), lost_after=lost_after)
        assert result.masters is not None
        away.append(result.masters.masters_away_s)
    assert away[1] - away[0] == pytest.approx(110)


@pytest.mark.slow
def test_without_another_core_node_the_run_never_ends_and_says_what_to_change() -> None:
    with pytest.raises(DeadlineError) as caught:
        outcome(lost(), min_nodes=1)
    assert "another core node" in caught.value.hint


def test_a_run_that_waits_for_a_lost_node_names_it() -> None:
    gone = Loss(NodeId("node01"), at_us=0)
    with pytest.raises(DeadlineError) as caught:
        simulate(limited(ready(plan(demand("a", 3, come=jobs("a", 1)), nodes=3, losses=(gone,))), 7200))
    assert caught.value.hint.startswith("Lost by a [[fault]]: node01. Give it a time `back`")


def test_figures_of_runs_without_losses_are_as_before() -> None:
    result, _ = outcome()
    assert result.masters is None
    assert not set(MASTERS) & set(result.plain())
    with_losses, _ = outcome(lost())
    assert set(MASTERS) <= set(with_losses.plain())
    assert set(MASTERS) <= set(with_losses.plain()["clusters"][0])
