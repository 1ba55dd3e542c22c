"""Section 6 on one simulated MR-cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import Role
from fawkes.offline.studies.paper.experiments.micro import (
    Bench,
    application_s,
    reference_us,
    removal_busy_s,
    removal_idle_s,
)
from fawkes.offline.studies.paper.judging.fixed import FixedModel, varied
from fawkes.sim.hadoop.constants import PAPER
from fawkes.sim.hadoop.profile import Profile

PLAIN = Profile(maps=12, map_us=10 * SECOND_US)
EVEN = replace(PAPER, spread=0.0, decommission_us=0, task_end_us=0)


def test_jobs_run_one_after_another() -> None:
    one = Bench(EVEN, core=2).run([PLAIN])
    # A beginning of 7 s, one wave, an end of 4 s.
    assert one == pytest.approx(21)
    assert Bench(EVEN, core=2).run([PLAIN, PLAIN]) == pytest.approx(2 * one)


def test_a_node_that_leaves_takes_no_tasks_and_is_gone_when_its_data_is_elsewhere() -> None:
    bench = Bench(EVEN, 1, 1, Role.TRANSIENT_CORE)
    bench.evacuate(bench.others, 10**9)
    assert bench.run([PLAIN]) == pytest.approx(31)
    assert list(bench.cluster.nodes) == ["core-000"]


def test_the_reference_is_the_time_alone_on_ten_core_nodes() -> None:
    assert reference_us(EVEN, PLAIN) == 21 * SECOND_US


def test_idle_nodes_leave_in_the_time_that_hdfs_gives_each() -> None:
    # 10 GB at two blocks of 128 MiB every 3 s, whatever the disks could do.
    expected = 10e9 / (2 * 134_217_728 / 3)
    assert removal_idle_s(FixedModel(EVEN), 1, True)["node_s"] == pytest.approx(expected, rel=0.01)
    assert removal_idle_s(FixedModel(EVEN), 4, False)["total_s"] == pytest.approx(4 * expected, rel=0.01)
    # 16 leave: the 4 disks of those that stay take 200 MB/s each, and lose to 16 streams.
    taken = 4 * 200e6 / (1 + EVEN.disk_seek * (1 - 4 / 16))
    assert removal_idle_s(FixedModel(EVEN), 16, True)["total_s"] == pytest.approx(160e9 / taken, rel=0.01)
    # HDFS looks every 30 s whether they are empty.
    assert removal_idle_s(FixedModel(), 1, True)["node_s"] == pytest.approx(120)


def test_removing_nodes_at_the_start_of_a_job_makes_it_slower() -> None:
    assert removal_busy_s(FixedModel(), "ST", 4) > 1.2 * removal_busy_s(FixedModel(), "ST", 0)


def test_a_varied_constant_changes_what_depends_on_it() -> None:
    plain = application_s(FixedModel(), "WC", 20, "", 0)
    assert application_s(varied("cpu_compute", 2.0), "WC", 20, "", 0) > 1.5 * plain
    assert application_s(varied("disk_bytes_s", 2.0), "WC", 20, "", 0) == pytest.approx(plain, rel=0.05)


def test_a_remote_byte_never_costs_less_than_a_local_one() -> None:
    assert varied("remote_read", 0.5).constants.remote_read == pytest.approx(1.25)
