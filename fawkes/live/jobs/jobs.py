"""Jobs: each attempt is begun once by a launcher on the master and found again by its tag; how it stands is told.

What that means is decided in `core.attempts`, which is also asked right before anything is begun.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from fawkes.base.errors import ElsewhereError, FawkesError, UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.jobs.attempts import judge, may_begin
from fawkes.core.values.adopted import KeptJob
from fawkes.core.values.effects import CancelJob, ClearSaved, EndAttempts, StartJob, SteerStream
from fawkes.core.values.events import AttemptSeen, Progress
from fawkes.core.values.model import ClusterId, Facts, JobId
from fawkes.core.values.sight import Attempt, Launcher, application_of
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.eyes import history
from fawkes.live.eyes.strays import strays_of
from fawkes.live.hadoop.orders import AddressedOrder, give
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs import arrays, half_done, spark
from fawkes.live.jobs.attempts import applications_of, see
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.nodes.upload import Upload
from fawkes.live.wire.masters import application
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs
from fawkes.playbook import Lease
from fawkes.store.record import text_of

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    """An attempt under way, as it was told last. ``began``: something of it was told, ``cancelled``: its end is wanted.

    ``own`` is a command that need not have an application, ``single`` one that is over with its first. ``looks`` counts
    how often it was looked at, ``latest`` is the look that was told.
    """

    job: JobId
    cluster: ClusterId
    attempt: int
    own: bool = False
    single: bool = False
    began: bool = False
    cancelled: bool = False
    reported: Attempt | None = None
    looks: int = 0
    latest: int = 0


class Jobs:
    """Reaches `StartJob` and `CancelJob` goals, and looks every second how the attempts stand.

    ``over`` says whether an attempt has been judged to its end: it is watched no more then. ``look_now`` tells whether
    an MR-cluster takes writes and applications, before an attempt is told that may have failed because it does not.
    """

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        mailbox: Mailbox,
        upload: Upload,
        over: Callable[[ClusterId, JobId, int], bool] = lambda cluster, job, attempt: False,
        look_now: Callable[[ClusterId], None] = lambda cluster: None,
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._mailbox = mailbox
        self._upload = upload
        self._over = over
        self._look_now = look_now
        self._lock = threading.Lock()
        self._watched: dict[JobId, _Watched] = {}
        self._threads = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="jobs")
        self._looks: dict[ClusterId, Future[None]] = {}

    def start(self, effect: StartJob) -> None:
        """Begin the attempt unless something of it was begun, and tell how it stands; UserError if it never can be.

        One that was adopted without its declaration is only looked at.
        """
        details = JobDetails.of(effect.spec.details) if effect.spec.details else None
        watched = self._watch(effect, details)
        cluster = self._cluster(effect.cluster)
        look, seen = self._see(cluster, watched)
        if details is not None and may_begin(seen):
            self._begin(cluster, effect, details)
            look, seen = self._see(cluster, watched)
        self._tell(watched, look, seen, again=True)

    def cancel(self, effect: CancelJob) -> None:
        """End the client and the applications of an attempt; how that ends is seen by `round`."""
        cluster = self._cluster(effect.cluster)
        self._ground.run(
            cluster.master, book.cancel(self._lease(cluster), effect.job, effect.attempt), "cancelling a job"
        )
        watched = self._watch(effect, None)
        watched.cancelled = True
        for app in applications_of(self._setup, cluster, effect.job, effect.attempt):
            if not app.ended:
                self._kill(cluster, app.id)
        self._tell(watched, *self._see(cluster, watched), again=True)

    def _kill(self, cluster: LiveCluster, name: str) -> None:
        """Have YARN end an application; FawkesError when it cannot be told."""
        argv = self._setup.kill_argv(cluster, name)
        self._order(cluster, name, self._setup.kill_order(cluster, name), argv)

    def _order(self, cluster: LiveCluster, name: str, order: AddressedOrder | None, argv: Sequence[str]) -> None:
        """Have something ended: by an order over RPC, else by a command on the master; FawkesError."""

        def by_client() -> None:
            environment = self._setup.environment(cluster, cluster.master)
            script = hadoop.order(self._lease(cluster), {"kill": argv}, environment)
            self._ground.run(cluster.master, script, f"killing {name}")

        if order is None:
            by_client()
        else:
            give(self._ground, cluster, order, by_client)

    def reach(self, effect: ClearSaved | EndAttempts | SteerStream) -> Facts:
        """The facts by which a goal about an attempt ends; FawkesError when it cannot be reached now."""
        match effect:
            case ClearSaved():
                return self.clear(effect)
            case EndAttempts():
                return self.end_attempts(effect)
            case SteerStream():
                return self.steer(effect)

    def end_attempts(self, effect: EndAttempts) -> Facts:
        """End those of the attempts that still stray; FawkesError when that cannot be told, or is refused.

        They are killed and not failed: a failure would count against the attempts that a task has.
        """
        cluster = self._cluster(effect.cluster)
        masters, ended = self._setup.masters(cluster), 0
        for name in sorted(set(map(application_of, effect.attempts))):
            deadline = Deadline.after(limits.APPLICATIONS_S)
            app = application(masters, name, deadline)
            if app is None or app.ended:
                continue
            strays = {stray.attempt for stray in strays_of(masters, name, deadline)}
            for attempt in sorted(strays.intersection(effect.attempts)):
                order = self._setup.end_order(cluster, attempt, app.master_rpc)
                self._order(cluster, attempt, order, self._setup.end_argv(cluster, attempt))
                ended += 1
        return {"ended": ended}

    def clear(self, effect: ClearSaved) -> Facts:
        """Remove what tasks left beside their results, or notes of a stream; FawkesError while HDFS does not answer."""
        hdfs = Hdfs.of(self._setup.masters(self._cluster(effect.cluster)), patience_s=limits.HDFS_S)
        if effect.spec.stream is not None:
            for attempt in range(1, effect.attempt + 1):
                hdfs.delete(spark.stream_folder(effect.job, attempt))
            return {}
        output = JobDetails.of(effect.spec.details).output
        # The output may be that of another job, which was there first.
        if hdfs.status(f"{output}/{arrays.OWNER}{effect.job}") is not None:
            for part in arrays.PARTS:
                hdfs.delete(f"{output}/{part}")
        return {}

    def steer(self, effect: SteerStream) -> Facts:
        """Note for a stream how many executors it is to have; FawkesError while HDFS does not answer."""
        hdfs = Hdfs.of(self._setup.masters(self._cluster(effect.cluster)), patience_s=limits.HDFS_S)
        spark.note_executors(hdfs, effect.job, effect.attempt, effect.executors)
        return {}

    def refused(self, effect: StartJob | CancelJob, error: FawkesError) -> None:
        """A goal that could not be worked on: why is told, and whether it ever can be."""
        if isinstance(error, ElsewhereError):
            return
        never = isinstance(error, UserError) and isinstance(effect, StartJob)
        seen = Attempt(refused=str(error)) if never else Attempt(error=str(error))
        self._mailbox.tell(lambda at: AttemptSeen(at_us=at, job=effect.job, attempt=effect.attempt, seen=seen))

    def round(self) -> None:
        """Begin a look at the attempts of every MR-cluster whose last look has ended: none holds up another."""
        with self._lock:
            busy = {watched.cluster for watched in self._watched.values()}
            for gone in set(self._looks) - busy:
                del self._looks[gone]
            for cluster in busy:
                if cluster not in self._looks or self._looks[cluster].done():
                    self._looks[cluster] = self._threads.submit(self._look, cluster)

    def close(self) -> None:
        """Begin no more looks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, name: ClusterId) -> None:
        try:
            self._look_at(name)
        except Exception:
            _log.exception("a defect while looking at the jobs of %s", name)

    def _look_at(self, name: ClusterId) -> None:
        with self._lock:
            known = [job for job in self._watched.values() if job.cluster == name]
        watched = [job for job in known if not self._over(job.cluster, job.job, job.attempt)]
        self._forget([job for job in known if job not in watched])
        cluster = self._clusters.get(name)
        if cluster is None:
            self._forget(watched)
        elif cluster.ready:
            for job in watched:
                look, seen = job.looks + 1, Attempt()
                try:
                    look, seen = self._see(cluster, job)
                except FawkesError as error:
                    _log.info("%s could not be looked at: %s", job.job, error)
                # Not known is news as well: what was seen last may not last.
                self._tell(job, look, seen)

    def _watch(self, effect: StartJob | CancelJob, details: JobDetails | None) -> _Watched:
        """The attempt, watched from now on if it was not."""
        with self._lock:
            watched = self._watched.get(effect.job)
            if watched is None or watched.attempt != effect.attempt:
                watched = self._watched[effect.job] = _Watched(effect.job, effect.cluster, effect.attempt)
            if details is not None:
                watched.single = details.one_application
                watched.own = details.kind in ("script", "pig") and not watched.single
            return watched

    def _forget(self, watched: list[_Watched]) -> None:
        with self._lock:
            for job in watched:
                if self._watched.get(job.job) is job:
                    del self._watched[job.job]

    def _see(self, cluster: LiveCluster, job: _Watched) -> tuple[int, Attempt]:
        """The number of a look and how the attempt stood then."""
        with self._lock:
            job.looks += 1
            look = job.looks
        return look, see(self._ground, self._setup, cluster, job.job, job.attempt, own=job.own, single=job.single)

    def _tell(self, job: _Watched, look: int, seen: Attempt, *, again: bool = False) -> None:
        """Tell how an attempt stands, if that is news; one that has ended by any reading is watched no more.

        A look that began before the one that was told is history: by it nothing was begun that runs by now.
        """
        if seen.launcher is Launcher.FINISHED and seen.exit != 0 and seen != job.reported:
            # Without this the next attempt would begin, and fail as this one, before anybody knows why.
            self._look_now(job.cluster)
        with self._lock:
            if self._watched.get(job.job) is not job or look < job.latest or (seen == job.reported and not again):
                return
            job.reported, job.latest = seen, look
            job.began = job.began or seen.launcher not in (Launcher.ABSENT, Launcher.UNBORN, Launcher.NOT_KNOWN)
            self._mailbox.tell(lambda at: AttemptSeen(at_us=at, job=job.job, attempt=job.attempt, seen=seen))
        verdict = judge(seen, began=job.began, cancelling=job.cancelled, lasted=False)
        if verdict is not None and verdict.progress is not Progress.RUNNING:
            self._forget([job])

    def _begin(self, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> None:
        """Files first, then the launcher: what is missing is found before anything runs."""
        if details.kind == arrays.KIND:
            # What an earlier attempt has finished counts: nothing of it is in the way.
            details = arrays.details_of(self._setup, cluster, effect, details)
        elif effect.attempt > 1:
            self._make_way(cluster, effect)
        right = self._lease(cluster)
        if effect.spec.stream is not None:
            details = spark.details_of_stream(details)
            hdfs = Hdfs.of(self._setup.masters(cluster), patience_s=limits.HDFS_S)
            spark.note_executors(hdfs, effect.job, effect.attempt, effect.spec.stream.least)
        if details.kind in spark.KINDS:
            command = spark.command(self._setup, cluster, effect, details)
        else:
            command = self._setup.job_command(cluster, effect, details)
        self._upload.job_files(cluster.master, right, effect, details, command.conf)
        script = book.start(right, effect.job, effect.attempt, command.argv, env=command.env, kept=kept_job(effect))
        self._ground.run(cluster.master, script, "starting a job")

    def _make_way(self, cluster: LiveCluster, effect: StartJob) -> None:
        """Set the output of the attempt before aside: Hadoop takes no job whose output is there already.

        Only of an attempt with one application, which has failed: a program of several may go on with what it made.
        """
        try:
            before = applications_of(self._setup, cluster, effect.job, effect.attempt - 1)
            if len(before) != 1 or not before[0].ended or before[0].succeeded:
                return
            masters, deadline = self._setup.masters(cluster), Deadline.after(limits.APPLICATIONS_S)
            output = history.configured(masters, before[0].id, half_done.OUTPUT, deadline)
            folder = half_done.staging(before[0], self._setup.settings(cluster))
            if aside := half_done.make_way(Hdfs.of(masters), output, folder):
                _log.info("%s: the output of %s is in %s", effect.job, before[0].id, aside)
        except FawkesError as error:
            _log.warning("%s: what its last attempt left may be in its way: %s", effect.job, error)

    def _lease(self, cluster: LiveCluster) -> Lease:
        generation = cluster.members[cluster.master].generation
        return self._ground.lease(cluster.master, cluster.id, generation)

    def _cluster(self, cluster: ClusterId) -> LiveCluster:
        known = self._clusters.get(cluster)
        if known is None:
            raise FawkesError(f"{cluster} is not running")
        return known


def kept_job(effect: StartJob) -> str:
    """The copy of a job's declaration that stays beside its attempt."""
    return text_of(KeptJob(spec=effect.spec, attempt=effect.attempt))
