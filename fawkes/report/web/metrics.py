"""`/metrics`: the figures of a pool as Prometheus collects them. What is not known has no sample, and is never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fawkes.base.units import SECOND_US
from fawkes.report.tables.rows import Row, gone
from fawkes.report.tables.waste_rows import cluster_rows
from fawkes.report.web.course import PoolCourse

#: key of a row, name and help of its metric; all of them are gauges with the label cluster
_OF_CLUSTER = (
    ("target", "fawkes_cluster_target_nodes", "Nodes that the last tick wants the MR-cluster to have."),
    ("share", "fawkes_cluster_share_ratio", "Part of the pool's capacity that the MR-cluster holds."),
    ("weight", "fawkes_cluster_weight_ratio", "Weight of the MR-cluster: the part of the capacity that it is due."),
    ("min_nodes", "fawkes_cluster_min_nodes", "Core nodes that the MR-cluster always keeps."),
    ("jobs_waiting", "fawkes_cluster_jobs_waiting", "Jobs that wait, as the masters said last."),
    ("jobs_running", "fawkes_cluster_jobs_running", "Jobs that run, as the masters said last."),
    ("tasks_waiting", "fawkes_cluster_tasks_waiting", "Tasks that wait for a slot, as the masters said last."),
    ("tasks_running", "fawkes_cluster_tasks_running", "Tasks that run, as the masters said last."),
)
#: keys of rows that say how it is now, which only a controller at work knows
_OF_NOW = frozenset({"jobs_waiting", "jobs_running", "tasks_waiting", "tasks_running"})
_ROLES = ("core", "transient_core", "transient", "joining", "leaving", "lost")
_HEALTH = ("green", "yellow", "red")


class _Figures(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def metrics_text(pool: Row, clusters: Sequence[Row], nodes: Sequence[Row], course: PoolCourse, *, stale: bool) -> bytes:
    """The figures in the text format of Prometheus, from the rows of `fawkes status` and `nodes` and the course.

    A ``stale`` pool has no samples of what its masters said and how healthy its MR-clusters are: nobody knows that now.
    """
    registry = CollectorRegistry(auto_describe=False)
    there = [row for row in clusters if not gone(row)]
    registry.register(_Figures([*_pool(pool, nodes, course, stale=stale), *_clusters(there, course, stale=stale)]))
    return generate_latest(registry)


def measured(facts: Mapping[str, Any]) -> float | None:
    """The global discrimination by the facts of a tick, as it is set against tau; None without weights."""
    value = facts.get(str(facts.get("measure", "raw")))
    weighed = any(row.get("weight") is not None for row in facts.get("clusters", {}).values())
    return float(value) if weighed and isinstance(value, int | float) else None


def _gauge(name: str, text: str, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _pool(pool: Row, nodes: Sequence[Row], course: PoolCourse, *, stale: bool) -> Iterator[Metric]:
    if not pool["simulated"]:
        text = "1 while a controller gives signs of life and decides, 0 if not."
        yield GaugeMetricFamily("fawkes_controller_up", text, value=float(not stale))
    by_state = _gauge("fawkes_nodes", "Nodes of the pool by their state.", ["state"])
    for state, count in sorted(Counter(row["state"] for row in nodes).items()):
        by_state.add_metric([state], count)
    yield by_state
    yield GaugeMetricFamily(
        "fawkes_node_alerts", "Nodes with an alert.", value=float(sum(bool(row["alert"]) for row in nodes))
    )
    yield GaugeMetricFamily("fawkes_paused", "1 while voluntary moves are paused.", value=float(bool(pool["paused"])))
    if course.start_us is not None:
        text = "Time of the newest step of the ledger."
        yield GaugeMetricFamily("fawkes_last_step_timestamp_seconds", text, value=course.at_us / SECOND_US)
    if (discrimination := measured(pool["tick_facts"])) is not None:
        text = "Global discrimination of the last tick, as it is set against the threshold tau."
        yield GaugeMetricFamily("fawkes_discrimination_percent", text, value=discrimination)
    yield CounterMetricFamily("fawkes_steps", "Steps of the ledger.", value=float(course.seq))
    yield CounterMetricFamily("fawkes_ticks", "Ticks of the balancer.", value=float(course.ticks))
    moves = CounterMetricFamily("fawkes_node_moves", "Nodes that began to join or to leave.", labels=["way"])
    for way in ("grow", "shrink"):
        moves.add_metric([way], course.moved[way])
    yield moves


def _clusters(clusters: Sequence[Row], course: PoolCourse, *, stale: bool) -> Iterator[Metric]:
    for key, name, text in _OF_CLUSTER:
        family = _gauge(name, text, ["cluster"])
        for row in clusters:
            if row[key] is not None and not (stale and key in _OF_NOW):
                family.add_metric([row["cluster"]], float(row[key]))
        yield family
    held = _gauge("fawkes_cluster_nodes", "Nodes of the MR-cluster by role, and others.", ["cluster", "role"])
    health = _gauge("fawkes_cluster_health", "1 for the health that the MR-cluster has.", ["cluster", "health"])
    alerts = _gauge("fawkes_cluster_alerts", "Alerts of the MR-cluster.", ["cluster"])
    discrimination = _gauge(
        "fawkes_cluster_discrimination_share_seconds", "Discrimination D_i at the last tick.", ["cluster"]
    )
    for row in clusters:
        name = row["cluster"]
        for role in _ROLES:
            held.add_metric([name, role], row[role])
        for colour in () if stale else _HEALTH:
            health.add_metric([name, colour], float(row["health"] == colour))
        alerts.add_metric([name], len(row["alerts"]))
        values = course.curves[name]["discrimination"].values if name in course.curves else []
        if values and values[-1] is not None:
            discrimination.add_metric([name], values[-1])
    yield from (held, health, alerts, discrimination)
    ended = CounterMetricFamily("fawkes_jobs_ended", "Jobs that have ended, by how.", labels=["cluster", "state"])
    there = {row["cluster"] for row in clusters}
    for (cluster, state), count in sorted(course.ended.items()):
        if cluster in there:
            ended.add_metric([cluster, state], count)
    yield ended
    yield _wasted(course, there)


def _wasted(course: PoolCourse, there: Collection[str]) -> Metric:
    seconds = CounterMetricFamily(
        "fawkes_cluster_wasted_seconds", "Slot time of tasks that preemption wasted.", labels=["cluster", "kind"]
    )
    for waste in cluster_rows(course.waste):
        for kind in ("killed_work", "dumping", "restoring") if waste["cluster"] in there else ():
            seconds.add_metric([waste["cluster"], kind], waste[f"{kind}_s"])
    return seconds
