from __future__ import annotations

import pytest

from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report.pictures import frames
from tests.offline.support import demand, jobs, plan, ready, two


def test_figures_are_those_of_the_frames() -> None:
    store = simulate(ready(two()))
    outcome, table = outcome_of(store), frames.jobs(store)
    means = table.groupby("cluster").slowdown.mean()
    assert [row.slowdown_mean for row in outcome.clusters] == pytest.approx(means.tolist())
    assert [row.slowdown_median for row in outcome.clusters] == pytest.approx(
        table.groupby("cluster").slowdown.median().tolist()
    )
    assert (outcome.slowdown_least, outcome.slowdown_most) == pytest.approx((means.min(), means.max()))
    assert outcome.slowdown_middle == pytest.approx(means.median())
    assert outcome.slowdown_mean == pytest.approx(table.slowdown.mean())
    assert outcome.makespan_s == pytest.approx((table.submitted_s + table.response_s).max())


def test_a_static_mr_cluster_holds_its_minimum_from_deployment_to_the_end() -> None:
    """Seconds of nodes by hand: 3 nodes from the request on, none of them ever given back before the end."""
    settings = {"preset": "paper", "period": "20s", "policy": "None", "idle_time": "never"}
    store = simulate(ready(plan(demand("a", 3, come=jobs("a", 2)), settings=settings)))
    (row,) = outcome_of(store).clusters
    end_s = frames.samples(store).at_s.max()
    assert row.most_nodes == 3
    assert row.node_s == pytest.approx(3 * end_s, rel=0.1)
    assert (row.jobs, row.failed_jobs) == (2, 0)


def test_jobs_without_a_reference_have_a_response_and_no_slowdown() -> None:
    come = jobs("a", 2)
    unreferenced = plan(demand("a", come=come), unreferenced=frozenset(job.spec.id for job in come))
    outcome = outcome_of(simulate(ready(unreferenced)))
    assert (outcome.slowdown_mean, outcome.slowdown_most) == (None, None)
    assert outcome.response_mean_s is not None
    assert outcome.response_mean_s > 0
