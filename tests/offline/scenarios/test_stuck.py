"""ApplicationMasters that fill an MR-cluster, in the simulated world: an alert, a reason, and an end that names it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.errors import DeadlineError
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId
from fawkes.engine import Engine
from fawkes.offline.scenarios.load import Demand
from fawkes.offline.scenarios.plan import Plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report.tables.explain import explain_cluster
from fawkes.sim.engines import Choice
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.constants import PLAIN
from fawkes.sim.world import SimWorld
from fawkes.store.base import Writer
from fawkes.store.memory import MemoryStore
from tests.offline.support import jobs, limited, plan, ready

A = ClusterId("a")
#: one container a node, which the ApplicationMaster of a job takes
ONE = replace(PLAIN, map_slots=0, slots=1, master_share=1.0)


def small(nodes: int, *losses: Loss) -> Plan:
    """One MR-cluster on so many nodes with two jobs."""
    spec = ClusterSpec(id=A, min_nodes=nodes, max_nodes=nodes, replication=1)
    demand = Demand(spec=spec, requested_us=0, jobs=jobs("a", 2))
    names = frozenset(job.spec.id for job in demand.all_jobs)
    return plan(demand, nodes=nodes, constants=ONE, unreferenced=names, losses=losses)


class Alerts:
    """Watches a run: each alert of the MR-cluster by its kind."""

    def __init__(self) -> None:
        self.seen = [""]

    def __call__(self, engine: Engine, world: SimWorld) -> None:
        state = engine.view.clusters.get(A)
        kind = (state.alert_kind or "") if state else ""
        if self.seen[-1] != kind:
            self.seen.append(kind)


def run(made: Plan, engine: Choice, store: Writer) -> list[str]:
    alerts = Alerts()
    simulate(limited(replace(ready(made, "None"), engine=engine), 3600), store, watch=alerts)
    return alerts.seen


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["readable", "compiled"])
def test_an_application_master_without_room_for_tasks_is_an_alert_until_there_is_room(engine: Choice) -> None:
    store = MemoryStore()
    lost = Loss(NodeId("node02"), 60 * SECOND_US, 900 * SECOND_US)
    assert run(small(2, lost), engine, store) == ["", "stuck", ""]
    texts = {line.code: line.text for line in explain_cluster(store, "a").lines}
    assert "and slots are held (1 of 1, 1 by ApplicationMasters)" in texts["stuck"]
    assert texts["runs-again"] == "a is no longer stuck: a task runs, or none waits"


def test_a_run_that_stays_stuck_ends_with_the_alert_in_its_error() -> None:
    with pytest.raises(DeadlineError, match=r"tasks wait and none runs: .* \(1 by ApplicationMasters\)"):
        run(small(1), "auto", MemoryStore())


def test_with_room_for_tasks_there_is_no_alert() -> None:
    assert run(small(2), "auto", MemoryStore()) == [""]
