"""Shared parts of the tests of offline runs: small scenarios, and the catalogue of what came with Fawkes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, ClusterSpec
from fawkes.offline.scenarios.load import Coming, Demand, coming
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.scenario import Scenario, pool_of
from fawkes.workload.making.classes import GB
from fawkes.workload.model import TraceJob

ROOT = Path(__file__).parents[2]
CATALOG = Catalog(bundled=ROOT)
SETTINGS = {"preset": "paper", "period": "20s", "growth": "TR", "policy": "TD"}


def job(name: str, at_s: float = 0, gigabytes: int = 1, after: Sequence[str] = (), think_s: float = 0) -> TraceJob:
    """A Wordcount."""
    return TraceJob(
        id=name,
        submit_us=round(at_s * SECOND_US),
        application="WC",
        input_bytes=gigabytes * GB,
        shuffle_bytes=gigabytes * GB // 20,
        output_bytes=GB // 1000,
        maps=gigabytes * 8,
        reduces=4,
        after=tuple(after),
        think_us=round(think_s * SECOND_US),
    )


def jobs(cluster: str, count: int, every_s: float = 0) -> tuple[Coming, ...]:
    return coming([job(f"{cluster}-{number}", number * every_s) for number in range(count)], cluster)


def demand(cluster: str, min_nodes: int = 2, *, come: tuple[Coming, ...] = (), at_s: int = 0, **more: Any) -> Demand:
    spec = ClusterSpec(id=ClusterId(cluster), min_nodes=min_nodes, replication=1)
    return Demand(spec=spec, requested_us=at_s * SECOND_US, jobs=come, **more)


def plan(*demands: Demand, nodes: int = 8, settings: Mapping[str, Any] = SETTINGS, **more: Any) -> Plan:
    return Plan(name="small", nodes=pool_of(nodes), settings=settings, demands=demands, file="small", **more)


def two() -> Plan:
    """Two MR-clusters on 8 nodes, one with three times the jobs; seconds of simulated minutes."""
    return plan(demand("a", come=jobs("a", 4)), demand("b", come=jobs("b", 12), at_s=5))


def ready(plan: Plan, policy: str | None = None, **changes: Any) -> Scenario:
    """A scenario as `fawkes simulate` runs it."""
    policy_found = None if policy is None else CATALOG.find(Kind.POLICY, policy)
    chosen = plan.scenario(CATALOG, policy=policy_found, changes=changes)
    return with_demands(chosen, plan.with_references(chosen).demands)


def limited(scenario: Scenario, seconds: int) -> Scenario:
    return replace(scenario, limit_us=seconds * SECOND_US)
