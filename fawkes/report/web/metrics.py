"""`/metrics`: the figures of a pool as Prometheus collects them. What is not known has no sample, and is never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.account import Accounts
from fawkes.core.values.decision import PutCluster, PutJob, PutNode
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterLife, NodeId, NodeLife, NodeState
from fawkes.engine.ports import Entry
from fawkes.report.history import LEAVING
from fawkes.report.tables.rows import Row, gone
from fawkes.report.tables.waste_rows import cluster_rows

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
#: lives of a node that has an owner, and the way it moves
_WAYS = {NodeLife.JOINING: "grow", **dict.fromkeys(LEAVING, "shrink")}
_SINCE = ", since the page was started"


class Seen:
    """Sums over the steps that a page has seen; where it begins, nodes are as given. Only who is there has any."""

    def __init__(self, seq: int, at_us: int, nodes: Iterable[NodeState]) -> None:
        self.seq, self.at_us = seq, at_us
        self.moved: Counter[str] = Counter()
        self.ended: Counter[tuple[str, str]] = Counter()
        self.waste = Accounts()
        self._ways: dict[NodeId, str | None] = {}
        for node in nodes:
            self._moves(node)
        self.moved.clear()

    def follow(self, entry: Entry) -> None:
        """One more step; each has to come once, in the order of the ledger."""
        self.seq, self.at_us = entry.seq, max(self.at_us, entry.event.at_us)
        self.waste.follow(entry.event, entry.decision.reasons)
        for change in entry.decision.changes:
            match change:
                case PutNode():
                    self._moves(change.state)
                case PutJob() if change.state.life in ENDED_JOBS:
                    self.waste.end(change.state.id)
                    self.ended[change.state.cluster, change.state.life.value] += 1
                case PutCluster() if change.state.life is ClusterLife.GONE:
                    self.waste.forget(change.state.id)
                    for life in ENDED_JOBS:
                        self.ended.pop((change.state.id, life.value), None)

    def _moves(self, state: NodeState) -> None:
        way = None if state.owner is None else _WAYS.get(state.life)
        if way is not None and way != self._ways.get(state.node.id):
            self.moved[way] += 1
        # A node that is lost while it leaves does not begin to leave when it comes back.
        if way is not None or state.owner is None:
            self._ways[state.node.id] = way


class _Figures(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def metrics_text(pool: Row, clusters: Sequence[Row], nodes: Sequence[Row], counts: Seen, *, stale: bool) -> bytes:
    """The figures in the text format of Prometheus, from the rows of `fawkes status` and `nodes` and the counts.

    A ``stale`` pool has no samples of what its masters said and how healthy its MR-clusters are: nobody knows that now.
    """
    registry = CollectorRegistry(auto_describe=False)
    there = [row for row in clusters if not gone(row)]
    of_pool, of_clusters = _pool(pool, nodes, counts, stale=stale), _clusters(pool, there, counts, stale=stale)
    registry.register(_Figures([*of_pool, *of_clusters]))
    return generate_latest(registry)


def measured(facts: Mapping[str, Any]) -> float | None:
    """The global discrimination by the facts of a tick, as it is set against tau; None without weights."""
    value = facts.get(str(facts.get("measure", "raw")))
    weighed = any(row.get("weight") is not None for row in facts.get("clusters", {}).values())
    return float(value) if weighed and isinstance(value, int | float) else None


def _gauge(name: str, text: str, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _pool(pool: Row, nodes: Sequence[Row], counts: Seen, *, stale: bool) -> Iterator[Metric]:
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
    if counts.seq:
        text = "Time of the newest step of the ledger."
        yield GaugeMetricFamily("fawkes_last_step_timestamp_seconds", text, value=counts.at_us / SECOND_US)
    if (discrimination := measured(pool["tick_facts"])) is not None:
        text = "Global discrimination of the last tick, as it is set against the threshold tau."
        yield GaugeMetricFamily("fawkes_discrimination", text, value=discrimination)
    yield CounterMetricFamily("fawkes_steps", "Steps of the ledger.", value=float(counts.seq))
    yield CounterMetricFamily("fawkes_ticks", "Ticks of the balancer.", value=float(pool["tick"] or 0))
    text = f"Nodes that began to join or to leave{_SINCE}."
    moves = CounterMetricFamily("fawkes_node_moves", text, labels=["way"])
    for way in ("grow", "shrink"):
        moves.add_metric([way], counts.moved[way])
    yield moves


def _clusters(pool: Row, clusters: Sequence[Row], counts: Seen, *, stale: bool) -> Iterator[Metric]:
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
        value = pool["tick_facts"].get("clusters", {}).get(name, {}).get("discrimination")
        if value is not None:
            discrimination.add_metric([name], value)
    yield from (held, health, alerts, discrimination)
    text = f"Jobs that have ended, by how{_SINCE}."
    ended = CounterMetricFamily("fawkes_jobs_ended", text, labels=["cluster", "state"])
    for name in (row["cluster"] for row in clusters):
        for life in sorted(ENDED_JOBS):
            ended.add_metric([name, life], counts.ended[name, life])
    yield ended
    yield _wasted(counts, {row["cluster"] for row in clusters})


def _wasted(counts: Seen, there: Collection[str]) -> Metric:
    text = f"Slot time of tasks that preemption wasted{_SINCE}; of a job that ran then, all that its master tells."
    seconds = CounterMetricFamily("fawkes_cluster_wasted_seconds", text, labels=["cluster", "kind"])
    for waste in cluster_rows(counts.waste):
        for kind in ("killed_work", "dumping", "restoring") if waste["cluster"] in there else ():
            seconds.add_metric([waste["cluster"], kind], waste[f"{kind}_s"])
    return seconds
