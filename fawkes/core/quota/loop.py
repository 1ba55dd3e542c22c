"""The inner loop of quotas: what drivers say twice a second, in; the cores of each executor, out.

Stages are planned when they are first seen, their controllers follow the tasks that all executors together have done,
and each node divides its cores among the executors on it. Tasks of stock Spark are fetched, not dealt out: an executor
with less does less, and the others take its tasks. So a stage has one controller for all of its executors, and each
requests its part of the cores (docs/decisions/quotas.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, fsum

from fawkes.base.units import SECOND_US
from fawkes.base.values import replace
from fawkes.core.quota import control
from fawkes.core.quota.planner import HeldExecutors, mean_rate, plan_stage
from fawkes.core.quota.profile import name_of, records_of
from fawkes.core.quota.sight import (
    ApplicationSeen,
    CoresWay,
    ExecutorSeen,
    JobGoal,
    LoopApplication,
    LoopState,
    Period,
    PeriodCourse,
    PeriodLook,
    StageSeen,
    Steered,
)
from fawkes.core.quota.supervisor import supervise
from fawkes.core.quota.values import TOLERANCE, Claim, Divide, QuotaRules, round_up
from fawkes.core.values.model import ClusterId, JobId, JobState, NodeId


def node_cores(vcores: int | None, shared_cores: float, nodes: int) -> float | None:
    """The cores of a node that quotas are shares of: what YARN offers there, at most its part of a shared machine.

    None when YARN does not say.
    """
    if vcores is None or vcores < 1:
        return None
    return min(float(vcores), shared_cores / max(1, nodes)) if shared_cores else float(vcores)


def step(room: LoopState, look: PeriodLook, divide: Divide, rules: QuotaRules) -> Period:
    """One period: a new state, and the cores of each executor. Applications that were not seen are over.

    On nodes of which the cores are not known no executor has a limit.
    """
    seen, nodes, now_us = look.seen, look.nodes, look.at_us
    looked = [_look(room.applications.get(each.goal.job), each, nodes, now_us, rules) for each in seen]
    wants = [_want(application, each, nodes, now_us, rules) for application, each in zip(looked, seen, strict=True)]
    quotas = _divided(wants, nodes, now_us, divide, rules)
    after = [_answered(want, quotas, look) for want in wants]
    return Period(LoopState({app.goal.job: app for app, _ in after}), quotas, tuple(course for _, course in after))


def teachers(
    known: Mapping[JobId, JobGoal], room: LoopState, under_way: Mapping[JobId, JobState]
) -> tuple[list[JobGoal], list[JobGoal]]:
    """Attempts that another profile would fit better: those under way, and those that have ended since the last call.

    They have another shape than their profile, or it has no rate for a stage of theirs. ``known`` are those that were
    under way. Those that have ended well make a new version of their profile; whether they did, YARN knows.
    """
    known = {**known, **{job: app.goal for job, app in room.applications.items() if _unfit(app)}}
    waiting, ended = list[JobGoal](), list[JobGoal]()
    for name, goal in sorted(known.items()):
        job = under_way.get(name)
        (ended if job is None or job.attempt != goal.attempt else waiting).append(goal)
    return waiting, ended


def _unfit(app: LoopApplication) -> bool:
    return bool(app.other_shape) or any(
        each.rate is None and each.id in app.submitted for each in app.goal.profile.stages
    )


def planned_nodes(room: LoopState, cluster: ClusterId, nodes: Mapping[NodeId, float | None], pool: int) -> int | None:
    """The nodes that eq. 6 gives the applications of an MR-cluster, at most the ``pool``; 0 without any.

    An application between its stages keeps what it has; one whose stage gets all cores counts as the pool. None where
    the cores of its nodes are not known.
    """
    apps = [app for app in room.applications.values() if app.goal.cluster == cluster]
    held = {each.node for app in apps for each in app.executors}
    cores = [known for node in held if (known := nodes.get(node)) is not None]
    if len(cores) < len(held):
        return None
    wanted = 0.0
    for app in apps:
        if not app.steered:
            wanted += _cores(app, nodes)
        elif app.other_shape or any(each.plan.cores is None for each in app.steered):
            return pool
        else:
            wanted += sum(each.plan.cores or 0 for each in app.steered)
    return min(pool, ceil(wanted / min(cores) - TOLERANCE)) if cores else 0


# --- what is known of an application now


def _look(
    before: LoopApplication | None,
    seen: ApplicationSeen,
    nodes: Mapping[NodeId, float | None],
    now_us: int,
    rules: QuotaRules,
) -> LoopApplication:
    """The application with what its driver has said; a new attempt of the job begins anew."""
    if before is None or before.goal != seen.goal:
        before = LoopApplication(goal=seen.goal, heard_us=now_us)
    if seen.stages is None:
        return before
    app = replace(
        before,
        heard_us=now_us,
        executors=seen.executors,
        written={**before.written, **{each.id: each.written for each in seen.stages}},
        # The first of a line had all cores: under a quota tasks take longer than a core needs for them.
        learned={
            **{name_of(each.id): each.done / each.run_s for each in reversed(seen.stages) if each.done and each.run_s},
            **before.learned,
        },
    )
    active = {(each.id, each.attempt) for each in seen.stages if each.active}
    app = replace(app, steered=tuple(each for each in app.steered if (each.stage, each.attempt) in active))
    known = {(each.stage, each.attempt) for each in app.steered}
    for stage in seen.stages:
        new = stage.id not in app.submitted
        if stage.active and (stage.id, stage.attempt) not in known:
            app = _begin(app, stage, nodes, now_us, rules)
        if new:
            app = replace(app, submitted=(*app.submitted, stage.id))
    return app


def _begin(
    app: LoopApplication, seen: StageSeen, nodes: Mapping[NodeId, float | None], now_us: int, rules: QuotaRules
) -> LoopApplication:
    """The application with the plan and the controller of a stage that has begun."""
    stages = {each.id: each for each in app.goal.profile.stages}
    stage = stages.get(seen.id)
    if stage is None:
        profile = app.goal.profile
        what = f"stage {seen.id!r} is not in version {profile.version} of the profile {profile.name}"
        return replace(app, other_shape=app.other_shape or what)
    cores = _cores(app, nodes)
    count = max(1, len(app.executors))
    # A stage that runs again was submitted before, and still takes its part of the time.
    waiting = [each for each in app.goal.profile.stages if each.id == stage.id or each.id not in app.submitted]
    records = records_of(app.goal.profile, stage, app.written, app.goal.size)
    if stage.rate is None and (learned := app.learned.get(name_of(stage.id))):
        stage, records = replace(stage, rate=learned), float(seen.tasks)
    left = max(0, seen.tasks - seen.done)
    plan = plan_stage(
        stage,
        waiting,
        records=records * left / seen.tasks,
        spent_s=(now_us - app.goal.submitted_us) / SECOND_US,
        deadline_s=(app.goal.due_us - app.goal.submitted_us) / SECOND_US,
        held=HeldExecutors(executors=count, node_cores=cores / count if cores else 1.0),
        parameters=rules.parameters,
        end_s=app.goal.profile.end_s,
    )
    state, way = None, CoresWay.NO_RATE if stage.rate is None else CoresWay.LATE
    if plan.cores is not None and stage.rate is not None and records > 0 and left:
        way = CoresWay.CONTROLLED
        state = control.begin(
            left,
            stage.rate * seen.tasks / records,
            before=seen.done,
            now_s=now_us / SECOND_US,
            deadline_s=now_us / SECOND_US + plan.deadline_s,
            initial=plan.initial * count,
            parameters=rules.parameters,
        )
    new = Steered(stage=seen.id, attempt=seen.attempt, plan=plan, control=state, way=way)
    return replace(app, steered=(*app.steered, new))


def _cores(app: LoopApplication, nodes: Mapping[NodeId, float | None]) -> float:
    """All cores that its executors can use."""
    return fsum(min(each.slots, nodes.get(each.node) or each.slots) for each in app.executors)


# --- what it requests


@dataclass(frozen=True, slots=True)
class _Want:
    """An application in this period: the cores that each of its stages requests, and how that was found.

    ``left`` is what its unfinished tasks can use, ``cores`` what its executors can. ``heard``: its driver has said how
    far it is.
    """

    app: LoopApplication
    way: CoresWay
    cores: float
    requests: Mapping[str, float] = field(default_factory=dict)
    left: float = 0.0
    heard: bool = False

    @property
    def requested(self) -> float:
        """The cores that it requests for all of its executors together."""
        return min(self.cores, fsum(self.requests.values()))


def _want(
    app: LoopApplication, seen: ApplicationSeen, nodes: Mapping[NodeId, float | None], now_us: int, rules: QuotaRules
) -> _Want:
    cores = _cores(app, nodes)
    # A driver that has never said anything may not be there yet.
    if seen.stages is None and app.executors and now_us - app.heard_us > rules.silent_us:
        return _Want(app, CoresWay.SILENT, cores)
    if app.other_shape or not app.submitted:
        return _Want(app, CoresWay.OTHER_SHAPE if app.other_shape else CoresWay.STARTING, cores, {"": cores}, cores)
    done = {(each.id, each.attempt): float(each.done) for each in seen.stages or ()}
    requests: dict[str, float] = {}
    steered: list[Steered] = []
    left = 0.0
    for each in app.steered:
        state, most, wanted = each.control, cores, cores
        if state is not None:
            tasks = done.get((each.stage, each.attempt))
            most = min(cores, state.left(tasks))
            state, wanted = control.request(state, now_us / SECOND_US, tasks, most=most, parameters=rules.parameters)
        requests[each.stage] = wanted
        left += most
        steered.append(replace(each, control=state))
    ways = sorted((each.way for each in steered), key=lambda way: way is CoresWay.CONTROLLED)
    way = ways[0] if ways else CoresWay.BETWEEN
    return _Want(replace(app, steered=tuple(steered)), way, cores, requests, left, heard=seen.stages is not None)


# --- what it gets


def _divided(
    wants: Sequence[_Want], nodes: Mapping[NodeId, float | None], now_us: int, divide: Divide, rules: QuotaRules
) -> dict[NodeId, dict[str, float | None]]:
    """The cores of each container; the sum on a node is at most its cores.

    Executors of the same applications on equal nodes get the same, which is found once.
    """
    quotas: dict[NodeId, dict[str, float | None]] = {}
    limited: dict[NodeId, list[tuple[int, ExecutorSeen]]] = {}
    for place, want in enumerate(wants):
        for executor in want.app.executors:
            quotas.setdefault(executor.node, {})[executor.container] = None
            if want.way is not CoresWay.SILENT and nodes.get(executor.node) is not None:
                limited.setdefault(executor.node, []).append((place, executor))
    alike: dict[object, list[float]] = {}
    for node, pairs in limited.items():
        cores = nodes[node] or 0.0
        key = (cores, tuple((place, executor.slots) for place, executor in pairs))
        if key not in alike:
            claims = _claims([(wants[place], executor.slots) for place, executor in pairs], cores, now_us, rules)
            given = supervise(claims, cores, divide, gamma=rules.parameters.gamma, quantum=rules.parameters.quantum)
            alike[key] = [given[claim.id] for claim in claims]
        quotas[node].update({executor.container: given for (_, executor), given in zip(pairs, alike[key], strict=True)})
    return quotas


def _claims(executors: Sequence[tuple[_Want, int]], cores: float, now_us: int, rules: QuotaRules) -> list[Claim]:
    """The claims of the executors of a node, each with its slots: their parts of what their applications request."""
    # A quota of 0 would stop an executor for good: its driver gives up one that sends no heartbeat.
    least = min(rules.parameters.least, cores / len(executors))
    claims = []
    for place, (want, slots) in enumerate(executors):
        goal, own = want.app.goal, min(slots, cores)
        part = want.requested * own / want.cores if want.cores else 0.0
        claim = Claim(
            id=f"{goal.job} {place}",
            requested=max(least, min(own, round_up(part, rules.parameters.quantum))),
            most=max(least, min(own, want.left)),
            left_s=(goal.due_us - now_us) / SECOND_US,
            rate=mean_rate(goal.profile, rules.parameters.beta),
            submitted_s=goal.submitted_us / SECOND_US,
            least=least,
        )
        claims.append(claim)
    return claims


def _answered(
    want: _Want, quotas: Mapping[NodeId, Mapping[str, float | None]], look: PeriodLook
) -> tuple[LoopApplication, PeriodCourse]:
    """The application whose controllers know what they were given (eq. 19), and its course.

    Of an executor whose last quota is not known to be in force nobody knows what it has: its controllers go on from
    what they requested.
    """
    app = want.app
    mine = [quotas[each.node][each.container] for each in app.executors]
    unset = next((look.unset[each.container] for each in app.executors if each.container in look.unset), "")
    given = None if not mine or None in mine or unset else fsum(each or 0.0 for each in mine)
    total = fsum(want.requests.values())
    applied = want.requested if unset else given
    steered = tuple(_applied(each, applied, want.requests.get(each.stage, 0.0), total) for each in app.steered)
    shown = next((each for each in steered if each.control is not None), steered[0] if steered else None)
    course = PeriodCourse(
        job=app.goal.job,
        way=want.way,
        stage="" if shown is None else shown.stage,
        requested=None if want.way is CoresWay.SILENT else want.requested,
        given=given,
        unset=unset,
    )
    if shown is not None and shown.control is not None:
        point = shown.control.set_point(look.at_us / SECOND_US)
        course = replace(course, set_point=point, progress=point - shown.control.error if want.heard else None)
    return replace(app, steered=steered), course


def _applied(steered: Steered, given: float | None, request: float, total: float) -> Steered:
    if steered.control is None or given is None or total <= 0:
        return steered
    return replace(steered, control=control.apply(steered.control, given * request / total))
