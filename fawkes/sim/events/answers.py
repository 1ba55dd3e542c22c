"""Answers of simulated masters and nodes, as the facts that a world posts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fawkes.base.values import replace
from fawkes.core.values.effects import AwaitRoom, CancelJob, ClearSaved, CountWork, Host, StartJob, SteerStream
from fawkes.core.values.events import AttemptSeen, Condition, Done, Failed, NodeObserved, NodeSeen, Progress
from fawkes.core.values.model import ClusterId, Facts, NodeId
from fawkes.core.values.sight import (
    AppLife,
    AppSeen,
    Attempt,
    Blocks,
    Compute,
    Launcher,
    SafeMode,
    Service,
    Sight,
    Stored,
)
from fawkes.sim.events.steps import Faults, OfCluster
from fawkes.sim.hadoop.model import Cluster
from fawkes.sim.hadoop.tasks import End, JobAttempt

NO_FACTS: Facts = {}


def sight_of(
    cluster: ClusterId,
    only_here: Mapping[NodeId, ClusterId],
    now_us: int,
    compute: Compute = Compute.LOST,
    stored: Stored = Stored.DEAD,
    blocks: Blocks | None = None,
) -> Sight:
    """The view that masters have of a node; the report on its blocks knows of those that only a dead node has."""
    if blocks is None:
        missing = missing_of(cluster, only_here)
        blocks = Blocks(asked_us=now_us, known=True, has_own=True, missing=missing, missing_files=len(missing))
    return Sight(asked_us=now_us, compute=compute, stored=stored, blocks=blocks)


def missing_of(cluster: ClusterId, only_here: Mapping[NodeId, ClusterId]) -> tuple[str, ...]:
    """The files of an MR-cluster of which no living node has the blocks."""
    return tuple(sorted(f"/blocks-of/{node}" for node, owner in only_here.items() if owner == cluster))


def observed(
    effect: Host, now_us: int, condition: Condition, error: str | None = None, facts: Facts = NO_FACTS
) -> NodeObserved | None:
    """The event that tells of a node; None for an empty ``error``, of which nothing is ever heard."""
    if error == "":
        return None
    node, generation = effect.node, effect.generation
    return NodeObserved(
        at_us=now_us, node=node, generation=generation, condition=condition, error=error or "", facts=facts
    )


def runs(attempt: JobAttempt, started_us: int, now_us: int) -> AttemptSeen:
    """An attempt runs; its application started then."""
    seen = Attempt(launcher=Launcher.RUNNING, applications=_application(attempt, started_us))
    return AttemptSeen(at_us=now_us, job=attempt[0], attempt=attempt[1], seen=seen)


def ended(attempt: JobAttempt, end: End, now_us: int) -> AttemptSeen:
    """The sight of an ended attempt, as its launcher leaves it: the exit code and the application."""
    good = end.progress is Progress.SUCCEEDED
    seen = Attempt(
        launcher=Launcher.FINISHED,
        exit=0 if good else 1,
        cancelled=end.progress is Progress.CANCELLED,
        began_us=end.started_us,
        ended_us=end.finished_us,
        applications=() if end.started_us is None else _application(attempt, end.started_us, end),
        words=end.error,
    )
    return AttemptSeen(at_us=now_us, job=attempt[0], attempt=attempt[1], seen=seen)


def without_writes(service: Service | None) -> Callable[[str, str], str | None] | None:
    """The faults of an MR-cluster whose HDFS takes no writes: each attempt fails; None when it takes them."""
    if service is None or service.safe_mode in (SafeMode.OFF, SafeMode.NOT_KNOWN):
        return None
    return lambda kind, name: "Name node is in safe mode" if kind == "job" else None


def started(
    effect: StartJob,
    cluster: Cluster | None,
    faults: Callable[[str, str], str | None],
    starts: dict[JobAttempt, int],
    now_us: int,
) -> AttemptSeen | None:
    """An attempt is handed to YARN, once, and counted in ``starts``; what is seen of it, None of no MR-cluster."""
    if cluster is None:
        return None
    attempt = (effect.job, effect.attempt)
    known = cluster.knows(attempt)
    error = None if known else faults("job", effect.job)
    if error is not None:
        return ended(attempt, cluster.refuse(attempt, error), now_us) if error else None
    if not known:
        starts[attempt] = starts.get(attempt, 0) + 1
    handle = cluster.submit(effect)
    return ended(attempt, handle, now_us) if isinstance(handle, End) else runs(attempt, handle, now_us)


def cancelled(effect: CancelJob, cluster: Cluster | None, now_us: int) -> AttemptSeen | None:
    """An attempt is stopped; what is seen of it, None of no MR-cluster."""
    if cluster is None:
        return None
    attempt = (effect.job, effect.attempt)
    return ended(attempt, cluster.cancel(attempt), now_us)


def work_counted(effect: CountWork, cluster: Cluster | None, now_us: int) -> Done | Failed:
    """The time of the tasks of an attempt that has succeeded; a final `Failed` when nobody knows such an attempt."""
    end = None if cluster is None else cluster.ended.get((effect.job, effect.attempt))
    if end is None or end.progress is not Progress.SUCCEEDED:
        error = f"no attempt {effect.attempt} of {effect.job} has succeeded in {effect.cluster}"
        return Failed(at_us=now_us, effect=effect.key, version=effect.attempt, error=error, final=True)
    return Done(at_us=now_us, effect=effect.key, version=effect.attempt, facts={"work_us": end.work_us})


OfJob = StartJob | CancelJob | CountWork | AwaitRoom | ClearSaved | SteerStream
"""Goals about the jobs of an MR-cluster."""


def of_job(
    effect: OfJob,
    cluster: Cluster | None,
    faults: Faults,
    starts: dict[JobAttempt, int],
    ready: Callable[[ClusterId], int | None],
    now_us: int,
) -> AttemptSeen | Done | Failed | None:
    """The answer to a goal about jobs of an MR-cluster; None when there is none yet, or no room was found."""
    match effect:
        case StartJob():
            return started(effect, cluster, faults, starts, now_us)
        case CancelJob():
            return cancelled(effect, cluster, now_us)
        case CountWork():
            return work_counted(effect, cluster, now_us)
        case ClearSaved() | SteerStream() if cluster is not None:
            # No simulated task saves anything, and no simulated job streams.
            return Done(at_us=now_us, effect=effect.key, version=effect.version)
        case AwaitRoom() if cluster is not None:
            return room(effect, ready(effect.cluster), now_us)
        case AwaitRoom() | ClearSaved() | SteerStream():
            return failed(now_us, effect, f"there is no {effect.cluster}")


def room(effect: AwaitRoom, ready: int | None, now_us: int) -> Done | None:
    """There is room when no task lacks it; None: look again."""
    return Done(at_us=now_us, effect=effect.key, version=effect.version) if ready == 0 else None


def application_of(attempt: JobAttempt) -> str:
    """The name of the one application of an attempt."""
    return f"application_{attempt[0]}_{attempt[1]}"


def _application(attempt: JobAttempt, started_us: int, end: End | None = None) -> tuple[AppSeen, ...]:
    """The one application of an attempt, as YARN knows it while it runs and at its end."""
    life = AppLife.LIVE
    if end is not None:
        life = AppLife.SUCCEEDED if end.progress is Progress.SUCCEEDED else AppLife.FAILED
    return (
        AppSeen(
            id=application_of(attempt),
            life=life,
            started_us=started_us,
            finished_us=end.finished_us if end else None,
        ),
    )


def restarted(seen: NodeSeen) -> NodeSeen:
    """The same of a node whose masters have not missed its heartbeats yet, and which says that it was restarted."""
    gone = ("datanode", "nodemanager")
    sight = replace(seen.sight, compute=Compute.RUNNING, stored=Stored.IN_SERVICE, blocks=None, gone=gone)
    return replace(seen, sight=sight)


def failed(
    now_us: int, effect: OfCluster | AwaitRoom | ClearSaved | SteerStream, error: str | None, facts: Facts = NO_FACTS
) -> Failed | None:
    """The event of a goal that was not reached; none of an ``error`` of which nothing is ever heard."""
    if not error:
        return None
    return Failed(at_us=now_us, effect=effect.key, version=effect.version, error=error, facts=facts)
