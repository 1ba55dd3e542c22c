"""Inputs that the experiments of the paper hold equal between policies."""

from __future__ import annotations

from fawkes.offline.studies.paper.experiments.macro import Replay, scenario_of
from fawkes.offline.studies.paper.judging.fixed import FixedModel


def test_a_policy_does_not_change_the_workload_that_it_meets() -> None:
    under = [
        scenario_of(Replay(workload="WKLD-A", policy=name, replay=1), FixedModel()).wishes for name in ("TD", "JD")
    ]
    assert under[0] == under[1]
    assert under[0] != scenario_of(Replay(workload="WKLD-A", policy="TD", replay=2), FixedModel()).wishes
