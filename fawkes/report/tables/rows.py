"""Nodes, MR-clusters, jobs and steps as rows: the same keys in every command, from the ledger or from a controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from fawkes.base.units import SECOND_US, show_duration, show_time
from fawkes.config.jobs import spark
from fawkes.core.jobs import service
from fawkes.core.state import alerts
from fawkes.core.state.members import copy_on
from fawkes.core.values.decision import PutTick
from fawkes.core.values.events import StandbySeen
from fawkes.core.values.lifecycle import ENDED_JOBS, WITH_MASTERS
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobLife,
    JobSpec,
    JobState,
    MastersMove,
    MoveCause,
    NodeLife,
    NodeState,
    Reason,
    Role,
    Sample,
)
from fawkes.engine.ports import Entry
from fawkes.report import history
from fawkes.report.tables.explain import lines_of
from fawkes.report.tables.node_rows import node_row, waited_for
from fawkes.report.words.event_words import event_in_words
from fawkes.report.words.facts import fold, named_files
from fawkes.report.words.promises import GIVEN_UP, promise
from fawkes.report.words.sentences import held_by, sentence, why_ended
from fawkes.store.base import JOB, Reader
from fawkes.store.record import to_plain

Row = dict[str, Any]

#: how long a jump of the clock is news
_NEWS_US = 86_400 * SECOND_US
GREEN, YELLOW, RED = "green", "yellow", "red"


def seconds(us: int | None) -> float | None:
    """A time of a row: seconds; None when there is none."""
    return None if us is None else us / SECOND_US


def job_row(state: JobState) -> Row:
    """A job: state, attempt, the paper's w^J and s^J, slowdown, its deadline, and why and where to look if it failed.

    ``why`` of a job that runs is what it waits for, once nothing of it has moved for long.
    ``cpus`` is what an admission policy granted it, ``outcome`` what became of its deadline; None where there is none.
    """
    return {
        "job": state.id,
        "cluster": state.cluster,
        "state": state.life.value,
        "attempt": state.attempt,
        "submitted": show_time(state.submitted_us),
        "wait_s": seconds(state.wait_us),
        "run_s": seconds(state.run_us),
        "slowdown": state.slowdown,
        "deadline_s": seconds(state.spec.deadline_us),
        "cpus": state.granted or None,
        "outcome": outcome(state),
        "application": state.application,
        "why": why_ended(state) or ("" if state.waits is None else sentence(state.waits)),
        "log": state.log,
    }


def outcome(state: JobState) -> str | None:
    """The outcome of a job's deadline: met, missed, dropped or killed.

    None for a job without one, before the job has ended, and for one that was cancelled.
    """
    if state.met is None or state.life is JobLife.CANCELLED:
        return None
    if state.life in (JobLife.DROPPED, JobLife.KILLED):
        return state.life.value
    return "met" if state.met else "missed"


class Due:
    """The jobs with deadlines of a store, counted as they are stored: of jobs there are ever more."""

    def __init__(self, store: Reader) -> None:
        self._there: dict[str, bool] = {}
        self._ended: Counter[str | None] = Counter()
        store.latest(JOB, self.read)

    def read(self, job: str, put: Any) -> bool:
        """The latest of a job, as plain data; False: it has not to be decoded."""
        said = put["state"]
        if (due_us := said["spec"].get("deadline_us")) is not None:
            life = JobLife(said.get("life", JobLife.QUEUED))
            self._there[job] = life is JobLife.QUEUED
            if life in ENDED_JOBS:
                del self._there[job]
                spec = JobSpec(id=JobId(job), cluster=ClusterId(""), deadline_us=due_us)
                times = {key: said[key] for key in ("submitted_us", "finished_us") if key in said}
                self._ended[outcome(JobState(spec=spec, life=life, **times))] += 1
        return False

    def row(self) -> dict[str, int]:
        """The numbers of those that wait, run, and ended in each way."""
        there = Counter(self._there.values())
        ended = {name: self._ended[name] for name in ("met", "missed", "dropped", "killed")}
        return {"waiting": there[True], "running": there[False], **ended}


def cluster_row(
    state: ClusterState,
    nodes: Iterable[NodeState],
    sample: Sample | None,
    tick: PutTick | None,
    usable_milli: int,
    own: Iterable[JobState] | None = None,
) -> Row:
    """An MR-cluster: its nodes by role (those that come and go apart), share, weight, target, queue, times, health.

    ``nodes`` are those that it holds, ``usable_milli`` is the capacity in service, in thousandths. ``jobs_waiting`` and
    ``jobs_running`` are what its masters said last, users' own applications included. ``own`` are the jobs that were
    submitted to Fawkes and have not ended: ``jobs_queued`` of them wait in its queue, ``jobs_started`` were handed to
    YARN (both None when nobody counted). ``second_copy`` is the node that gets the second copy of the masters' data,
    ``second_namenode`` the one with the second NameNode, ``journal`` the nodes of its journal (None without one).
    """
    jobs = None if own is None else Counter(job.life is JobLife.QUEUED for job in own)
    held = list(nodes)
    roles = Counter(node.role for node in held if node.life is NodeLife.SERVING)
    active = state.active and tick is not None
    there = state.life is not ClusterLife.GONE
    health, why = _health(state, held)
    known = alerts.every(state)
    if not state.active or state.unreadable_us is not None or state.silent_us is not None:
        # What its masters said last says nothing of now.
        sample = None
    return {
        "cluster": state.id,
        "state": state.life.value,
        "health": health,
        "why": why,
        "nodes": len(held),
        "core": roles[Role.CORE],
        "transient_core": roles[Role.TRANSIENT_CORE],
        "transient": roles[Role.TRANSIENT],
        "joining": sum(1 for node in held if node.life is NodeLife.JOINING),
        "leaving": sum(1 for node in held if node.life in history.LEAVING),
        "lost": sum(1 for node in held if node.life is NodeLife.LOST),
        "hold": held_by(state.hold) if state.hold else "",
        "out_of_service": sum(1 for node in held if node.life is NodeLife.LOST or node.keep_out),
        "min_nodes": state.spec.min_nodes,
        "max_nodes": state.spec.max_nodes,
        "run_as": str(state.spec.details.get("run_as") or ""),
        "target": tick.targets.get(state.id) if tick is not None and active else None,
        "share": sum(node.node.capacity_milli for node in held) / usable_milli if usable_milli else None,
        "weight": tick.weights.get(state.id) if tick is not None and active else None,
        "jobs_waiting": None if sample is None else sample.jobs_waiting,
        "jobs_running": None if sample is None else sample.jobs_running,
        "jobs_queued": None if jobs is None else jobs[True],
        "jobs_started": None if jobs is None else jobs[False],
        "tasks_waiting": None if sample is None else sample.tasks_waiting,
        "tasks_running": None if sample is None else sample.tasks_running,
        "requested": show_time(state.requested_us),
        "since": show_time(state.since_us),
        "wait_s": seconds(state.wait_us),
        "deploy_s": seconds(state.deploy_us),
        "load_s": seconds(state.load_us),
        "save_s": seconds(state.save_us),
        "masters_on": state.master if there else None,
        "masters_moving": state.moving is not None and state.moving.cause is not MoveCause.JOURNAL,
        "promise": promise(state) if there else None,
        "second_copy": None if state.master is None else copy_on(held, state.master),
        "spark_history": _spark_history(state, held),
        **_standby(state),
        "failed": state.failed,
        "alert": state.alert,
        "alert_kind": known[0].about.value if known else None,
        "alerts": [alert.text for alert in known],
    }


def _standby(state: ClusterState) -> Row:
    standby = state.standby
    return {
        "second_namenode": None if standby is None else standby.node,
        "takes_over": None if standby is None else standby.ready and standby.node != state.master,
        "journal": None if standby is None else list(standby.journal),
    }


def standby_rows(store: Reader) -> list[Row]:
    """The last view of the second NameNode of each MR-cluster, since when, and what is not whole.

    No row for one that was not seen yet, where it is now.
    """
    there = {state.id: state for state in history.clusters(store)}
    return [
        {"cluster": seen.cluster, "takes_over": seen.ready, "since": show_time(since_us), "error": seen.error}
        for seen, since_us in history.standbys(store)
        if seen.cluster in there and _of_now(seen, there[seen.cluster])
    ]


def _of_now(seen: StandbySeen, state: ClusterState) -> bool:
    standby = state.standby
    return standby is not None and seen.node == standby.node and seen.at_us >= state.requested_us


def _health(state: ClusterState, nodes: list[NodeState]) -> tuple[str | None, str]:
    """Red: it does not do its work, or its data is in danger. Yellow: it works, but somebody should look.

    None for one that is gone, unless it failed.
    """
    if state.failed:
        return RED, state.failed
    if state.life is ClusterLife.GONE:
        return None, ""
    danger = _data_in_danger(state, nodes)
    if danger:
        return RED, danger
    unusable = [alerts.text(state, kind) for kind in service.UNUSABLE if alerts.about(state, kind)]
    if unusable:
        return RED, "; ".join(unusable)
    if state.moving is not None and state.moving.begun:
        return (RED if state.standby is None else YELLOW), _stopped(state, state.moving)
    if state.alert:
        return YELLOW, state.alert
    if state.life in WITH_MASTERS and promise(state) == GIVEN_UP:
        return YELLOW, "it has no second NameNode until it has a new journal, for which three core nodes must serve"
    held = [node for node in nodes if node.alert]
    if held:
        return YELLOW, f"{held[0].node.id}: {held[0].alert}"
    return GREEN, ""


def _stopped(state: ClusterState, moving: MastersMove) -> str:
    """The standing of masters in a move that has begun; with a second NameNode they are away for moments only."""
    if moving.cause is MoveCause.JOURNAL:
        return "its masters are stopped by Fawkes, and start again with a new journal"
    facts = {"cluster": state.id, "instead_of": moving.old, "node": moving.to, "cause": moving.cause, "by": moving.by}
    why = sentence(Reason("masters-move", facts))
    if state.standby is not None:
        return f"its second NameNode takes over. {why}"
    return f"its masters {'are stopped by Fawkes' if moving.planned else 'do not serve yet'}. {why}"


def _data_in_danger(state: ClusterState, nodes: list[NodeState]) -> str:
    """Lost nodes that may hold data, and files of which blocks are nowhere; empty when there are neither."""
    lost = [node for node in nodes if node.life is NodeLife.LOST and waited_for(node)]
    if lost:
        said = [node.alert for node in lost if node.alert]
        said = [alerts.text(state, ClusterAlert.MASTERS)] if alerts.about(state, ClusterAlert.MASTERS) else said
        return ": ".join([f"waits for {fold([node.node.id for node in lost])}, which may hold data", *said[:1]])
    reports = [node.sight.blocks for node in nodes if node.sight is not None and node.sight.blocks is not None]
    worst = max((blocks for blocks in reports if blocks.known), key=lambda blocks: blocks.missing_files, default=None)
    if worst is not None and worst.missing_files:
        return f"HDFS misses blocks of {named_files(worst.missing, worst.missing_files, most=3)}"
    return alerts.text(state, ClusterAlert.MISSING)


def _spark_history(state: ClusterState, held: Iterable[NodeState]) -> str | None:
    """The address of the Spark history server: beside the masters, where the MR-cluster has Spark and is active."""
    if not state.active or spark.KIND not in cast("Collection[str]", state.spec.details.get("software") or ()):
        return None
    (details,) = [node.node.details for node in held if node.node.id == state.master] or [{}]
    return f"http://{details.get('data_address') or state.master}:{spark.HISTORY_PORT}"


def cluster_rows(store: Reader) -> list[Row]:
    """All MR-clusters of a store, those that are gone included, in the order of their requests."""
    nodes = history.nodes(store)
    usable = sum(node.node.capacity_milli for node in nodes if in_service(node))
    samples, tick = history.samples(store), history.balance(store)
    owned: dict[str, list[NodeState]] = {}
    for node in nodes:
        if node.owner is not None:
            owned.setdefault(node.owner, []).append(node)
    return [
        cluster_row(state, owned.get(state.id, ()), samples.get(state.id), tick, usable)
        for state in history.clusters(store)
    ]


def node_rows(store: Reader) -> list[Row]:
    """All nodes of a store, by name."""
    clusters = {state.id: state for state in history.clusters(store)}
    return [
        node_row(state, None if state.owner is None else clusters.get(state.owner)) for state in history.nodes(store)
    ]


def in_service(node: NodeState) -> bool:
    """True if the capacity of a node counts (C of the paper)."""
    return node.life is not NodeLife.OUT and (node.life is not NodeLife.LOST or node.owner is not None)


def pool_row(store: Reader, due: Due | None = None) -> Row:
    """The pool as a whole: who is or was in charge, nodes by how they stand, the latest tick and its verdict.

    Jobs with deadlines are counted where an admission policy is in force, unless they were before (``due``).
    """
    rules, tick = history.rules(store), history.last_tick(store)
    nodes = history.nodes(store)
    lives = Counter(node.life.value for node in nodes)
    held = sum(count for life, count in lives.items() if life not in ("free", "out"))
    verdict = [] if tick is None else lines_of([reason for reason in tick.reasons if reason.code == "tick"])
    return {
        "pool": None if rules is None else rules.pool,
        "controller": None if rules is None else rules.controller,
        "started": None if rules is None else show_time(history.started_us(store)),
        "simulated": history.simulated(store),
        "fawkes": None if rules is None else rules.version,
        "shadow": rules is not None and rules.shadow,
        "policy": None if rules is None else rules.settings.policy,
        "admission": None if rules is None else rules.settings.admission or None,
        "deadlines": (due or Due(store)).row() if rules is not None and rules.settings.admission else None,
        "as_of": show_time(history.last_us(store)),
        "nodes": sum(lives.values()),
        "held": held,
        "free": lives["free"],
        "silent": sum(node.life is NodeLife.FREE and bool(node.alert) for node in nodes),
        "out": lives["out"],
        "lost": lives["lost"],
        "paused": history.paused(store),
        "nodes_held": [f"{node.node.id} is {held_by(node.hold)}" for node in nodes if node.hold is not None],
        "given_back_by": history.given_back_by(store),
        "clock": _clock_in_words(store),
        "settings_changed": _settings_in_words(store),
        "tick": None if tick is None else tick.number,
        "tick_at": None if tick is None else show_time(tick.at_us),
        "tick_facts": {} if tick is None else dict(tick.facts),
        "verdict": verdict[0].text if verdict else None,
    }


def _settings_in_words(store: Reader) -> str:
    """The change of settings within the last day, by a start or a reload; empty when they did not."""
    news = history.news_of_settings(store)
    if news is None:
        return ""
    # Not before there is such news: all of the settings' forms come with it, a quarter of the memory of `fawkes nodes`.
    from fawkes.config.settings.reload import differences

    texts = differences(news[0].settings, news[1].settings, news[0].version)
    return f"{'; '.join(texts)} (since {show_time(news[1].at_us)})"


def _clock_in_words(store: Reader) -> str:
    """The jump of the clock of the controller's machine within the last day; empty when it did not."""
    jump = history.clock(store)
    if jump is None or history.last_us(store) - jump.at_us > _NEWS_US:
        return ""
    way = "ahead" if jump.by_us > 0 else "back"
    return f"it was set {way} by {show_duration(abs(jump.by_us))}, seen at {show_time(jump.at_us)}"


def gone(row: Mapping[str, Any]) -> bool:
    """True if the MR-cluster of a row exists no more."""
    return bool(row["state"] == ClusterLife.GONE)


def step_row(entry: Entry) -> Row:
    """A step of the ledger: what happened, in words and whole, and what was decided, in words, reasons and goals."""
    at_us = entry.event.at_us
    lines = lines_of(entry.decision.reasons, at_us, entry.seq)
    return {
        "step": entry.seq,
        "time": show_time(at_us),
        "kind": type(entry.event).__name__,
        "what": event_in_words(entry.event),
        "decided": [line.text for line in lines],
        "reasons": [to_plain(reason) for reason in entry.decision.reasons],
        "effects": [to_plain(effect) for effect in entry.decision.effects],
        "event": to_plain(entry.event),
    }
