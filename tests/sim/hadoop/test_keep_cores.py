"""Cores that copies and second NameNodes take: none unless asked for, else for each MR-cluster."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from fawkes.sim.hadoop.constants import DAS4, PLAIN
from fawkes.sim.hadoop.machine import cores_of, own_cores_of


def test_nothing_is_taken_unless_asked_for() -> None:
    assert own_cores_of(DAS4, 7) == 7 * DAS4.cores
    assert own_cores_of(DAS4, 0) == 0.0
    assert own_cores_of(PLAIN, 3) == inf
    assert cores_of(DAS4, 4, 2) == DAS4.cores


def test_each_mr_cluster_takes_its_part_once_whatever_its_size() -> None:
    kept = replace(DAS4, keep_cores=0.5)
    assert [own_cores_of(kept, nodes) for nodes in (1, 2, 10)] == [7.5, 15.5, 79.5]
    assert [cores_of(kept, 10, clusters) for clusters in (0, 1, 3)] == [8.0, 7.5, 6.5]


def test_tasks_always_get_a_twentieth() -> None:
    greedy = replace(DAS4, keep_cores=100.0)
    assert own_cores_of(greedy, 2) == 0.8
    assert cores_of(greedy, 2, 2) == 0.4


def test_only_mr_clusters_with_a_second_name_node_pay_for_it() -> None:
    both = replace(DAS4, keep_cores=0.5, standby_cores=0.25)
    assert [own_cores_of(both, 2, standby=standby) for standby in (False, True)] == [15.5, 15.25]
    assert [cores_of(both, 10, 3, standbys) for standbys in (0, 1, 3)] == [6.5, 6.25, 5.75]
