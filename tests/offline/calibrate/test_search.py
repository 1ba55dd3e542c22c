"""Constants that no record shows by itself are found by simulating with several values of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import NodeLife, Role
from fawkes.offline.calibrate.fit import NAMES, Fit
from fawkes.offline.calibrate.search import RUNS, SHARES, searched
from fawkes.offline.record.scenario import Platform
from fawkes.offline.scenarios.scenario import pool_of
from fawkes.report.history import node_changes
from fawkes.sim.events.steps import Delays
from tests.offline.record.support import CONSTANTS, demand, recorded, run, sleep_job

LAB = replace(CONSTANTS, spread=0.0, shared_cores=True, cores=1.0, job_begin_us=8 * SECOND_US, job_end_us=4 * SECOND_US)


def fits(**values: float) -> tuple[Fit, ...]:
    return tuple(Fit(name=name, n=9, value=values.get(name)) for name in NAMES)


def found(fitted: tuple[Fit, ...], name: str = "job_begin_cpu") -> Fit:
    return next(fit for fit in fitted if fit.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.75])
def test_the_work_of_jobs_that_begin_together_is_found(tmp_path: Path, share: float) -> None:
    """Jobs of three MR-clusters that begin at once on one core take longer the more of their beginning is work."""
    three = [demand(name, [sleep_job(f"{name}-0", name, maps=1)]) for name in "abc"]
    true = replace(LAB, job_begin_cpu_us=round(share * LAB.job_begin_us))
    record = recorded(run(three, constants=true), tmp_path, platform=Platform(cores=1, shared_cores=True))
    steps: list[str] = []
    best = found(searched(fits(job_begin=8e6, job_end=4e6, spread=0.0), [record], steps.append))
    assert (best.value, best.n, best.method) == (share * 8e6, 3, "search")
    assert best.low == best.high == best.value
    assert len(steps) == len(SHARES["job_begin_cpu"])


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_work_of_nodes_that_come_is_found_beside_that_of_jobs(tmp_path: Path, share: float) -> None:
    """Jobs that begin while nodes come to their MR-clusters take longer the more of both is work."""
    three = [demand(name, [sleep_job(f"{name}-{n}", name) for n in range(3)], every_s=20) for name in "abc"]
    join_us = Delays().join_us
    of = replace(LAB, job_begin_cpu_us=LAB.job_begin_us // 2, join_cpu_us=round(share * join_us))
    store = run(three, constants=of, nodes=pool_of(14))
    assert any(step.new.life is NodeLife.JOINING and step.new.role is Role.TRANSIENT for step in node_changes(store))
    record = recorded(store, tmp_path, platform=Platform(cores=1, shared_cores=True))
    steps: list[str] = []
    best = searched(fits(job_begin=8e6, job_end=4e6, join=float(join_us), spread=0.0), [record], steps.append)
    assert found(best, "join_cpu").value == share * join_us
    assert found(best).value == 4e6
    assert len(steps) == RUNS


def test_without_the_time_there_is_no_share_of_it() -> None:
    assert found(searched(fits(), [], lambda name: None)).value is None


@pytest.mark.slow
def test_too_few_jobs_say_nothing(tmp_path: Path) -> None:
    jobs = [sleep_job("a-0", "a", maps=1)]
    record = recorded(run([demand("a", jobs)], constants=LAB), tmp_path, platform=Platform(cores=1, shared_cores=True))
    few = found(searched(fits(job_begin=8e6, job_end=4e6), [record], lambda name: None))
    assert (few.value, few.n) == (None, 1)
