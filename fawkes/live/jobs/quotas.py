"""Quotas of real executors: drivers are read, the core divides, nodes are told; twice a second, beside the engine.

Nothing is judged here: `core.quota.loop` decides, and is given all that was seen. A period that takes longer than its
time is followed by the next one at once; no two are ever under way.
"""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.events import profile_of_log
from fawkes.config.jobs.profiles import keep
from fawkes.config.jobs.spark import KIND
from fawkes.core.fairness.targets import Bounds
from fawkes.core.quota.loop import node_cores, step, teachers
from fawkes.core.quota.nodes import NodeNeeds, settling_s, tell_nodes
from fawkes.core.quota.profile import profile_of
from fawkes.core.quota.sight import ApplicationSeen, JobGoal, LoopState, Period, PeriodLook
from fawkes.core.quota.values import Divide, QuotaRules
from fawkes.core.state.state import State
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState, NodeId, NodeLife
from fawkes.live.base import limits
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs.attempts import applications_of
from fawkes.live.jobs.event_log import event_lines
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.quotas import InForce, Limit, NodeQuotas, Wanted
from fawkes.live.wire.masters import resource_manager_nodes
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.live.wire.spark_driver import DriverReader
from fawkes.live.wire.webhdfs import Hdfs
from fawkes.store.quotas import QuotaRecord

_log = logging.getLogger(__name__)
_AT_WORK = (JobLife.STARTING, JobLife.RUNNING)
#: drivers that are read at once
_THREADS = 16
#: of a period, for drivers to answer
_PART = 0.6


def goal_of(job: JobState) -> JobGoal | None:
    """The goal of an attempt of a Spark job with a profile and a deadline; None for all others."""
    if job.due_us is None:
        return None
    details = JobDetails.of(job.spec.details)
    if details.kind != KIND or details.profile is None:
        return None
    try:
        profile = profile_of(details.profile, f"job {job.id}")
    except FawkesError as error:
        _log.warning("%s runs without quotas: its profile cannot be read: %s", job.id, error)
        return None
    return JobGoal(
        job=job.id,
        cluster=job.cluster,
        attempt=job.attempt,
        profile=profile,
        size=details.profile_size,
        submitted_us=job.submitted_us,
        due_us=job.due_us,
    )


class Quotas:
    """The inner loop over real drivers and nodes.

    ``record`` stores each period with the state and the look that it began with. ``profiles`` is the folder of those
    that runs make by themselves.
    """

    def __init__(
        self,
        view: State,
        clusters: Clusters,
        setup: Setup,
        nodes: NodeQuotas,
        record: QuotaRecord,
        profiles: Path,
        *,
        divide: Divide,
        rules: QuotaRules,
        shared_cores: Callable[[], float],
        now_us: Callable[[], int],
    ) -> None:
        self._view = view
        self._clusters = clusters
        self._setup = setup
        self._nodes = nodes
        self._record = record
        self._profiles = profiles
        self._unfit: dict[JobId, JobGoal] = {}
        self._divide = divide
        self._rules = rules
        self._shared_cores = shared_cores
        self._now_us = now_us
        self._room = LoopState()
        self._sizes = NodeNeeds()
        self._stood: tuple[LoopState, Mapping[NodeId, float | None]] = (self._room, {})
        self._readers: dict[tuple[JobId, int], DriverReader] = {}
        self._answers: dict[tuple[JobId, int], Future[ApplicationSeen]] = {}
        self._read: dict[tuple[JobId, int], JobGoal | None] = {}
        self._cores = _NodeCores(setup)
        self._own = ThreadPoolExecutor(max_workers=1, thread_name_prefix="quotas")
        self._drivers = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="drivers")
        self._under_way: Future[None] | None = None
        self._lock = threading.Lock()
        self._unset: Mapping[str, str] = {}
        self._not_recorded = ""

    def round(self) -> None:
        """Begin a period, unless one is under way or there is nothing to steer."""
        with self._lock, suppress(RuntimeError):
            # The thread takes no more work once the controller closes.
            if self._under_way is None or self._under_way.done():
                self._under_way = self._own.submit(self._guarded)

    def planned(self) -> Mapping[ClusterId, int | None]:
        """The nodes that the plans of the jobs of each MR-cluster need, or its share of those that there are.

        None where that is not known.
        """
        room, nodes = self._stood
        pool = self._view.counts.usable
        # Another thread changes the MR-clusters.
        specs = {each.id: each.spec for each in list(self._view.clusters.values()) if each.active}
        bounds = {c: Bounds(spec.min_nodes, max(spec.min_nodes, spec.max_nodes or pool)) for c, spec in specs.items()}
        rest_s = settling_s(self._rules.parameters, self._view.took_s(NodeLife.JOINING))
        try:
            self._sizes = tell_nodes(self._sizes, room, nodes, bounds, pool, self._divide, rest_s, self._now_us())
        except Exception:
            _log.exception("the quota policy cannot divide nodes: how many each MR-cluster needs is not known")
            return {}
        return self._sizes.nodes

    def close(self) -> None:
        """Begin no more periods; the nodes lift their limits by themselves."""
        with suppress(RuntimeError):
            self._own.submit(self._record.close)
        self._own.shutdown(wait=False)
        self._drivers.shutdown(wait=False, cancel_futures=True)

    def _guarded(self) -> None:
        try:
            self.period()
        except FawkesError as error:
            _log.warning("the quotas of this period are not known to be in force: %s", error)
        except Exception:
            _log.exception("a defect in a period of quotas")

    def period(self) -> Period | None:
        """One period; None while there is nothing to steer."""
        goals = self._goals()
        self._learn()
        if not goals and not self._room.applications:
            return None
        clusters = {
            each.cluster: cluster for each in goals if (cluster := self._clusters.get(each.cluster)) is not None
        }
        seen = self._drivers_say(goals, clusters)
        nodes = self._nodes_of(seen, clusters)
        look = PeriodLook(at_us=self._now_us(), seen=tuple(seen), nodes=nodes, unset=self._unset)
        before = self._room
        period = step(before, look, self._divide, self._rules)
        self._room = period.room
        self._stood = (period.room, nodes)
        wanted = _wanted(period, clusters)
        answers = self._nodes.set(wanted, limits.QUOTAS_S) if wanted else {}
        limited = {each for _, _, quotas in wanted.values() for each in quotas}
        self._unset = {
            executor.container: f"{executor.node} is no member of {app.goal.cluster}"
            for app in period.room.applications.values()
            for executor in app.executors
            if executor.container not in limited
        } | {each: why for node, answer in answers.items() for each, why in _not_in_force(answer, wanted[node][2])}
        self._store(before, look, period)
        return period

    def _store(self, before: LoopState, look: PeriodLook, period: Period) -> None:
        """Record a period. One that cannot be recorded is skipped: that is told once, until one is recorded again."""
        problem = ""
        try:
            self._record.append(before, look, period)
        except FawkesError as error:
            problem = f"{error.where}: {error.what}"
        if problem not in ("", self._not_recorded):
            _log.warning("%s. Quotas are in force, but their periods are not recorded until that is over", problem)
        self._not_recorded = problem

    def _goals(self) -> list[JobGoal]:
        """The goals of the attempts under way, by job; what a job says is read once."""
        # Another thread changes the jobs.
        under_way = {(job.id, job.attempt): job for job in list(self._view.jobs.values()) if job.life in _AT_WORK}
        self._read = {key: goal for key, goal in self._read.items() if key in under_way}
        for key in under_way.keys() - self._read.keys():
            self._read[key] = goal_of(under_way[key])
        return [goal for _, goal in sorted(self._read.items()) if goal is not None]

    def _learn(self) -> None:
        waiting, ended = teachers(self._unfit, self._room, self._view.jobs)
        self._unfit = {goal.job: goal for goal in waiting}
        for goal in ended:
            self._drivers.submit(learn, self._setup, self._clusters.get(goal.cluster), goal, self._profiles)

    def _drivers_say(
        self, goals: Sequence[JobGoal], clusters: Mapping[ClusterId, LiveCluster]
    ) -> list[ApplicationSeen]:
        """The answers of all drivers. A slow one is not waited for: its answer counts in a later period."""
        keys = {(goal.job, goal.attempt): goal for goal in goals}
        self._readers = {key: reader for key, reader in self._readers.items() if key in keys}
        self._answers = {key: answer for key, answer in self._answers.items() if key in keys}
        for key, goal in keys.items():
            if key not in self._answers:
                self._answers[key] = self._drivers.submit(self._look, goal, clusters.get(goal.cluster))
        done, _ = wait(self._answers.values(), timeout=self._rules.parameters.period_s * _PART)
        answered = {key: self._answers.pop(key).result() for key in keys if self._answers[key] in done}
        late = "its driver has not answered yet"
        return [answered.get(key) or ApplicationSeen(goal=goal, why=late) for key, goal in keys.items()]

    def _look(self, goal: JobGoal, cluster: LiveCluster | None) -> ApplicationSeen:
        """The answer of the driver of a goal; why there is none, where it says nothing."""
        if cluster is None or not cluster.ready:
            return ApplicationSeen(goal=goal, why=f"{goal.cluster} has no masters at the moment")
        key = (goal.job, goal.attempt)
        try:
            reader = self._readers.get(key)
            if reader is None:
                running = [app for app in applications_of(self._setup, cluster, *key) if not app.ended]
                if not running:
                    return ApplicationSeen(goal=goal, stages=(), why="it has no application yet")
                reader = self._readers[key] = DriverReader(running[-1].id)
            said = reader.look(self._setup.masters(cluster), Deadline.after(limits.DRIVER_S))
        except (UnreadableError, FawkesError) as error:
            return ApplicationSeen(goal=goal, why=str(error))
        return ApplicationSeen(goal=goal, stages=said.stages, executors=said.executors)

    def _nodes_of(
        self, seen: Sequence[ApplicationSeen], clusters: Mapping[ClusterId, LiveCluster]
    ) -> dict[NodeId, float | None]:
        """The cores of each node that an executor is on."""
        before = [app.executors for app in self._room.applications.values()]
        nodes = {each.node for executors in (*before, *(app.executors for app in seen)) for each in executors}
        vcores = self._cores.of(clusters.values(), nodes)
        count = len(self._view.nodes)
        return {node: node_cores(vcores.get(node), self._shared_cores(), count) for node in sorted(nodes)}


class _NodeCores:
    """The virtual cores that NodeManagers offer; asked for again only when a while has passed."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._known: dict[NodeId, int] = {}
        self._due = Deadline.after(0)

    def of(self, clusters: Iterable[LiveCluster], nodes: Collection[NodeId]) -> Mapping[NodeId, int]:
        """The cores by node; those of nodes that no ResourceManager has named yet are missing."""
        if self._due.left() <= 0 or not self._known.keys() >= set(nodes):
            self._due = Deadline.after(limits.NODE_CORES_S)
            for cluster in clusters:
                self._ask(cluster)
        return self._known

    def _ask(self, cluster: LiveCluster) -> None:
        masters = self._setup.masters(cluster)
        try:
            listed = resource_manager_nodes(masters, Deadline.after(limits.QUOTAS_S))
        except UnreadableError as error:
            _log.info("the cores of the nodes of %s are not known anew: %s", cluster.id, error)
            return
        for node in listed.values():
            if (known := masters.node(node.host)) is not None:
                self._known[known] = node.vcores


def _not_in_force(answer: InForce | FawkesError, wanted: Mapping[str, int | None]) -> Iterator[tuple[str, str]]:
    """The containers whose quota the node did not confirm, and why; one that is gone needs none."""
    for container, hundredths in wanted.items():
        if isinstance(answer, FawkesError):
            yield container, str(answer)
            continue
        quota = answer.containers[container]
        wanted_state = Limit.NONE if hundredths is None else Limit.LIMITED
        if quota.limit is not Limit.GONE and (quota.limit, quota.hundredths) != (wanted_state, hundredths):
            yield container, quota.why or f"its node says {quota.limit}"


def _wanted(period: Period, clusters: Mapping[ClusterId, LiveCluster]) -> Wanted:
    """The quotas of each node that is a member of the MR-cluster of its executors, in hundredths of a core."""
    wanted: dict[NodeId, tuple[ClusterId, int, dict[str, int | None]]] = {}
    for app in period.room.applications.values():
        cluster = clusters.get(app.goal.cluster)
        for executor in app.executors:
            member = None if cluster is None else cluster.members.get(executor.node)
            if cluster is None or member is None:
                continue
            _, _, quotas = wanted.setdefault(executor.node, (cluster.id, member.generation, {}))
            cores = period.quotas.get(executor.node, {}).get(executor.container)
            quotas[executor.container] = None if cores is None else max(1, round(100 * cores))
    return wanted


# --- Profiles that the runs of jobs make by themselves, where the one that they were given does not fit


def learn(setup: Setup, cluster: LiveCluster | None, goal: JobGoal, folder: Path) -> None:
    """Keep what an attempt that has ended did as the next version of its profile, if it ended well and this fits.

    What keeps it from that is a warning with the next command; a job is never touched by it.
    """
    name = goal.profile.name
    again = f"`fawkes profile run` makes the next version of the profile {name}"
    try:
        if cluster is None:
            raise FawkesError(f"{goal.cluster} is gone")
        ended = [app for app in applications_of(setup, cluster, goal.job, goal.attempt) if app.succeeded]
        if not ended:
            _log.info("%s made no new profile: YARN knows no application of it that has ended well", goal.job)
            return
        pieces = event_lines(Hdfs.of(setup.masters(cluster)), ended[-1].id)
        lines = (line for piece in pieces for line in io.BytesIO(piece.encode()))
        ran_us = None if ended[-1].finished_us is None else (ended[-1].started_us, ended[-1].finished_us)
        made = profile_of_log(lines, name, f"the event log of {ended[-1].id}", ran_us)
        if not made.fits_better(goal.profile):
            _log.info("%s: its run made the same profile as version %d of %s", goal.job, goal.profile.version, name)
            return
        kept = keep(folder, made)
    except (UnreadableError, FawkesError) as error:
        _log.warning("%s made no new profile: %s; %s", goal.job, error, again)
    else:
        _log.warning(
            "%s made version %d of the profile %s: version %d did not fit",
            goal.job,
            kept.version,
            name,
            goal.profile.version,
        )
