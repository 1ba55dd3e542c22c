"""Scenarios that can never finish: found early, and told with the jobs that are left and what each waits for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fawkes.base.errors import ConfigError, DeadlineError, FawkesError, UserError
from fawkes.base.units import SECOND_US, show_duration
from fawkes.core.state import alerts
from fawkes.core.state.state import State
from fawkes.core.values import events
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Reply
from fawkes.core.values.keys import Key, split
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife, JobId, JobLife, JobState, NodeLife
from fawkes.core.values.settings import Settings
from fawkes.report.words.sentences import sentence
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.profile import profile_of
from fawkes.sim.users import Wish

_HOUR_US = 3600 * SECOND_US
_FOREVER_US = 30 * 24 * _HOUR_US
_NAMED = 5
_ANSWERS = "A policy answers a finite number of at least 0, MINIMUM or None: see the page `policies`"
_TOO_MUCH = "Make the policy do less, or raise [bounds] of the scenario, such as by --set bounds."
_RAISED = {"TimeoutError: took": "policy_time=60s", "MemoryError: needs": "policy_memory=4GB"}
_NO_END = "No setting raises this bound: make the policy end its loops earlier"
_STEPS = re.compile(r"^(?:\S+ )?TimeoutError: more than")
_BOUND = re.compile(r"^(?:\S+ )?(TimeoutError: took|MemoryError: needs)")
_ITS_TIME = "its submit time"
_VERDICTS = "The page `policies` says what an admission policy may answer"
_CHOICES = "The page `preemption` says what a preemption policy may answer"
_LINE = re.compile(r", (line \d+)$")
_AT_WORK = frozenset({JobLife.STARTING, JobLife.RUNNING, JobLife.CANCELLING})
_ON_THE_WAY = frozenset(
    {ClusterLife.ADMITTED, ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.SAVING, ClusterLife.RETIRING}
)
_NEEDS_NODES = frozenset({ClusterLife.WAITING, ClusterLife.DEPLOYING})


class RunPatience:
    """The time for which a run may go on in which nothing happens but readings and ticks.

    Longer than any idle time or delay of the scenario, so that who waits for one of these is not given up; and not
    before the last node that was lost is back.
    """

    def __init__(self, wishes: Sequence[Wish], settings: Settings, losses: Sequence[Loss] = ()) -> None:
        idle = [wish.event.spec.idle_us or 0 for wish in wishes if isinstance(wish.event, events.Requested)]
        waits = [settings.idle_us or 0, settings.quarantine_us, *idle]
        waits += [max(wish.delay_us, wish.think_us) for wish in wishes]
        self._quiet_us = _HOUR_US + max((us for us in waits if us < _FOREVER_US), default=0)
        backs = [loss.back_us for loss in losses if loss.back_us is not None]
        self._since_us = max([0, *(wish.event.at_us for wish in wishes), *backs])

    def ends(self, event: events.Event, view: State) -> bool:
        """True if nothing will ever happen any more: long quiet, no job at work, no MR-cluster on its way."""
        # A node without power fails whatever it is asked, again and again.
        failed = all(
            isinstance(news, events.NodeObserved) and news.condition is events.Condition.FAILED
            for news in events.news_of(event)
        )
        # Lost masters that nobody can take over from are looked at, and told of members, again and again.
        failed = failed or isinstance(event, events.Failed)
        failed = failed or (isinstance(event, events.Done) and split(event.effect)[0] is Key.MASTERS)
        if not (failed or isinstance(event, events.Sampled | events.Woke)):
            self._since_us = max(self._since_us, event.at_us)
            return False
        if event.at_us - self._since_us <= self._quiet_us:
            return False
        at_work = any(job.life in _AT_WORK and not _lost_master(view, job.cluster) for job in view.jobs.values())
        return not at_work and not any(cluster.life in _ON_THE_WAY for cluster in view.clusters.values())


def _lost_master(view: State, cluster: ClusterId) -> str:
    """The node with the masters of an MR-cluster if it is lost, with which its jobs stand still; else nothing."""
    state = view.clusters.get(cluster)
    node = None if state is None or state.master is None else view.nodes.get(state.master)
    return node.node.id if node is not None and node.life is NodeLife.LOST else ""


def refuse_refused(event: events.Event, decision: Decision, name: str) -> None:
    """UserError when a wish was refused: a job or MR-cluster of the scenario will then never be."""
    if not isinstance(event, events.Requested | events.Submitted):
        return
    for effect in decision.effects:
        if isinstance(effect, Reply) and effect.refused is not None:
            what = "MR-cluster" if isinstance(event, events.Requested) else "job"
            raise UserError(
                f"{what} {event.spec.id!r} was refused {show_duration(event.at_us)} after the start: "
                f"{sentence(effect.refused)}",
                where=name,
                hint="The scenario can never finish: request it at a time when enough nodes are free",
            )


def refuse_failed_policy(decision: Decision, policy: events.PolicyText, at_us: int, period_us: int) -> None:
    """ConfigError when the policy gave no usable answer: no node would move, and the figures would be those of None.

    It names file and line, the tick, the MR-cluster and the window, which is the last ``period_us``.
    """
    for reason in decision.reasons:
        failed = str(reason.facts.get("failed", "")) if reason.code == "tick" else ""
        if failed:
            what = (
                f"the policy {policy.name} gave no usable answer at tick {reason.facts['tick']}, "
                f"{show_duration(at_us)} after the start, for the window that begins at "
                f"{show_duration(max(0, at_us - period_us))}"
            )
            raise _no_answer(what, policy, failed, _ANSWERS)


def _no_answer(what: str, policy: events.PolicyText, failed: str, usual: str) -> ConfigError:
    """The error with the line of a policy's file at which it failed; ``usual`` is the hint where no bound was met."""
    line = _LINE.search(failed)
    bound = _BOUND.search(failed)
    hint = _NO_END if _STEPS.search(failed) else f"{_TOO_MUCH}{_RAISED[bound[1]]}" if bound else usual
    return ConfigError(f"{what} ({failed})", file=policy.origin, key=line[1] if line else "", hint=hint)


def refuse_failed_admission(decision: Decision, policy: events.PolicyText | None, at_us: int) -> None:
    """ConfigError when the admission policy gave no usable answer: no job would be let in any more.

    It names file and line, the MR-cluster and, when a call took too much, the question.
    """
    _refuse_failed("admission", decision, policy, at_us, _VERDICTS)


def refuse_failed_preemption(decision: Decision, policy: events.PolicyText | None, at_us: int) -> None:
    """ConfigError when the preemption policy gave no usable answer, as `refuse_failed_admission` says it."""
    _refuse_failed("preemption", decision, policy, at_us, _CHOICES)


def _refuse_failed(kind: str, decision: Decision, policy: events.PolicyText | None, at_us: int, hint: str) -> None:
    for reason in decision.reasons:
        if reason.code == f"{kind}-failed" and policy is not None:
            what = (
                f"the {kind} policy {policy.name} gave no usable answer for {reason.facts['cluster']}, "
                f"{show_duration(at_us)} after the start"
            )
            raise _no_answer(what, policy, str(reason.facts["failed"]), hint)


def never_ends(
    name: str, now_us: int, wishes: Sequence[Wish], left: Sequence[str], view: State, losses: Sequence[Loss] = ()
) -> FawkesError:
    """The error that names the jobs that have not ended and what each of them waits for."""
    open_ = set(left)
    # An MR-cluster may have the name of a job.
    jobs = [wish for wish in wishes if isinstance(wish.event, events.Submitted) and wish.event.spec.id in open_]
    reasons = [_reason(wish, open_, view) for wish in jobs]
    more = f", and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    hint = "Give the pool more nodes than all minimums together, or a longer limit if the run was only slow"
    away = [loss.node for loss in losses if loss.node and loss.back_us is None]
    if away and any(cluster.life in _NEEDS_NODES for cluster in view.clusters.values()):
        hint = f"Lost by a [[fault]]: {', '.join(away[:_NAMED])}. Give it a time `back`, or the pool more nodes"
    if reasons and all(reason.endswith(_ITS_TIME) for reason in reasons):
        hint = "Give the run a longer `limit`, or perturb its arrivals less (--spread)"
    if wide := next(filter(None, (_too_wide(view, view.jobs.get(JobId(name))) for name in left)), None):
        hint = (
            f"A rigid job begins on all of its slots at once. Let {wide} have more nodes: give the other MR-clusters "
            "fewer min_nodes or an idle_time, give it more max_nodes, or give the pool more nodes"
        )
    if any(_kept_out(view, view.jobs.get(JobId(name))) for name in left):
        hint = "Change the admission policy so that each job is let in or dropped at last, or choose another one"
    waiting = [wish.event.spec.cluster for wish in wishes if isinstance(wish.event, events.Submitted)]
    if lost := sorted(filter(None, {_lost_master(view, cluster) for cluster in waiting})):
        idle = sum(node.owner is None for node in view.nodes.values())
        hint = (
            f"Masters move only to another core node in service ({idle} nodes are free): give the [[fault]] of "
            f"{lost[0]} a time `back`, give the MR-cluster more min_nodes, or set patience.masters_lost"
        )
    count = "1 job has" if len(left) == 1 else f"{len(left)} jobs have"
    return DeadlineError(
        f"the run never finishes: after {show_duration(now_us)} of simulated time {count} not ended: "
        f"{'; '.join(reasons[:_NAMED])}{more}",
        where=name,
        hint=hint,
    )


def _too_wide(view: State, job: JobState | None) -> ClusterId | None:
    """The MR-cluster in which a rigid job waits for more free slots while nothing else runs; else None."""
    if job is None or job.life is not JobLife.RUNNING or not profile_of(job.spec).gang:
        return None
    latest = view.latest(job.spec.cluster)
    return job.spec.cluster if latest is not None and latest.sample.tasks_running == 0 else None


def _kept_out(view: State, job: JobState | None) -> str:
    """The admission policy for which a job of a running MR-cluster waits; else nothing."""
    cluster = None if job is None else view.clusters.get(job.spec.cluster)
    waits = job is not None and job.life is JobLife.QUEUED and cluster is not None and cluster.active
    return view.rules.settings.admission if waits and view.rules is not None else ""


def too_many(name: str, steps: int, now_us: int) -> FawkesError:
    """The error of a run with more steps than can be kept."""
    return DeadlineError(
        f"the run has taken {steps:,} steps in {show_duration(now_us)} of simulated time, and has not ended",
        where=name,
        hint="Give it a shorter `limit`, fewer jobs, or longer times between ticks and samples: --set period=10m",
    )


def _reason(wish: Wish, left: set[str], view: State) -> str:
    spec = wish.event.spec
    job = view.jobs.get(JobId(spec.id))
    if job is None:
        before = [name for name in wish.jobs if name in left]
        if wish.running is not None:
            return f"{spec.id} was never submitted: it waits for MR-cluster {wish.running} to run"
        return f"{spec.id} was never submitted: it waits for {', '.join(before) or _ITS_TIME}"
    cluster = view.clusters.get(job.spec.cluster)
    if by := _kept_out(view, job):
        return f"{spec.id} waits in {job.spec.cluster}: the admission policy {by} neither lets it in nor drops it"
    life = "does not exist" if cluster is None else f"is {cluster.life}"
    if lost_node := _lost_master(view, job.spec.cluster):
        life = f"has lost {lost_node} with its masters"
    if cluster is not None and cluster.life is ClusterLife.WAITING:
        held = sum(other.spec.min_nodes for other in view.clusters.values() if other.life is not ClusterLife.WAITING)
        taken = f"other MR-clusters need {held} of {len(view.nodes)} nodes as their minimums"
        life += f" for {cluster.spec.min_nodes} core nodes: {taken}"
    if cluster is not None and alerts.about(cluster, ClusterAlert.STUCK):
        life += f" ({alerts.text(cluster, ClusterAlert.STUCK)})"
    if _too_wide(view, job):
        nodes = view.held(job.spec.cluster).nodes
        life += (
            f" on {nodes} of {len(view.nodes)} nodes; it begins when {profile_of(job.spec).maps} slots are free at once"
        )
    return f"{spec.id} is {job.life} in {job.spec.cluster}, which {life}"
