"""Jobs: each attempt is begun once by a launcher on the master, found again by its tag, watched to its end."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from fawkes.config.details import JobDetails
from fawkes.core.effects import CancelJob, StartJob
from fawkes.core.events import JobObserved, Progress
from fawkes.core.model import ClusterId, JobId
from fawkes.core.tags import tag_of
from fawkes.errors import ElsewhereError, FawkesError, UserError
from fawkes.live import masters
from fawkes.live.applications import kill
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.diagnosis import why_failed
from fawkes.live.ground import Ground
from fawkes.live.masters import Application
from fawkes.live.playbooks import job as book
from fawkes.live.post import Mailbox
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.setup import Setup
from fawkes.live.upload import Upload
from fawkes.playbook import Facts, Lease, Script
from fawkes.units import SECOND_US

_log = logging.getLogger(__name__)
_ANSWER_S = 10.0
_LOOK_S = 30.0
#: a client that has run for so long without an application counts as running: it may never have one
_PATIENCE_US = 60 * SECOND_US
#: a shell adds this to the number of the signal that ended a command
_SIGNALS = 128


@dataclass(slots=True)
class _Watched:
    """An attempt under way, of a client that was seen since then.

    ``own`` is a command that need not have an application, ``single`` one that is over with its first; ``told`` once
    its start was reported, ``cancelled`` once it was asked to stop.
    """

    job: JobId
    cluster: ClusterId
    attempt: int
    since_us: int
    own: bool = False
    single: bool = False
    told: bool = False
    cancelled: bool = False


class Jobs:
    """Reaches `StartJob` and `CancelJob` goals, and looks every second how the attempts stand."""

    def __init__(self, ground: Ground, clusters: Clusters, setup: Setup, mailbox: Mailbox, upload: Upload) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._mailbox = mailbox
        self._upload = upload
        self._lock = threading.Lock()
        self._watched: dict[JobId, _Watched] = {}
        self._again: dict[JobId, StartJob] = {}
        self._threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="jobs")
        self._looks: dict[ClusterId, Future[None]] = {}

    def start(self, effect: StartJob) -> None:
        """Begin the attempt unless it was begun; UserError when it never can be."""
        with self._lock:
            self._again.pop(effect.job, None)
        cluster = self._cluster(effect.cluster)
        details = JobDetails.of(effect.spec.details)
        known = self._ask(cluster, effect.job, effect.attempt)
        script = self._look_script(cluster, effect.job, effect.attempt)
        facts, _ = self._ground.look(cluster.master, script, within_s=_LOOK_S)
        if facts.get("state", "absent") in ("absent", "unborn") and not known:
            self._begin(cluster, effect, details)
        with self._lock:
            self._watched[effect.job] = self._begun(effect, details)

    def cancel(self, effect: CancelJob) -> None:
        """End the client and the applications of an attempt; how that ends is seen by `round`."""
        with self._lock:
            self._again.pop(effect.job, None)
        cluster = self._cluster(effect.cluster)
        self._ground.run(
            cluster.master, book.cancel(self._lease(cluster), effect.job, effect.attempt), "cancelling a job"
        )
        with self._lock:
            watched = self._watched.setdefault(effect.job, self._begun(effect))
            watched.cancelled = True
        self._kill(cluster, self._ask(cluster, effect.job, effect.attempt))

    def refused(self, effect: StartJob | CancelJob, error: FawkesError) -> None:
        """A goal that cannot be reached: a job that can never start has failed; anything else is tried again.

        A job that runs already has no deadline in the core after which it would be asked for again.
        """
        if isinstance(effect, CancelJob) or isinstance(error, ElsewhereError):
            return
        if isinstance(error, UserError):
            self._tell(effect, Progress.REFUSED, error=str(error))
            return
        with self._lock:
            self._again[effect.job] = effect

    def round(self) -> None:
        """Begin a look at the attempts of every MR-cluster whose last look has ended: one that hangs holds up no other.

        What could not be begun is begun again.
        """
        with self._lock:
            busy = {one.cluster for one in self._watched.values()}
            busy |= {effect.cluster for effect in self._again.values()}
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
            again = [effect for effect in self._again.values() if effect.cluster == name]
            watched = [one for one in self._watched.values() if one.cluster == name]
        for effect in again:
            try:
                self.start(effect)
            except FawkesError as error:
                self.refused(effect, error)
        cluster = self._clusters.get(name)
        if cluster is None or not cluster.ready:
            return
        for one in watched:
            try:
                self._observe(cluster, one)
            except FawkesError as error:
                _log.info("%s could not be looked at: %s", one.job, error)

    def _begun(self, effect: StartJob | CancelJob, details: JobDetails | None = None) -> _Watched:
        begun = _Watched(effect.job, effect.cluster, effect.attempt, self._mailbox.clock.now_us())
        if details is not None:
            begun.single = details.one_application
            begun.own = details.kind in ("script", "pig") and not begun.single
        return begun

    def _kill(self, cluster: LiveCluster, applications: tuple[Application, ...]) -> None:
        for application in applications:
            if not application.ended:
                kill(self._setup.masters(cluster), application.id, Deadline.after(_ANSWER_S))

    def _observe(self, cluster: LiveCluster, one: _Watched) -> None:
        script = self._look_script(cluster, one.job, one.attempt)
        facts, result = self._ground.look(cluster.master, script, within_s=_LOOK_S)
        state = facts.get("state", "")
        if state == "finished":
            self._finished(cluster, one, facts, result.stderr)
        elif state in ("running", "lost", "absent"):
            self._in_yarn(cluster, one, client_gone=state != "running")

    def _in_yarn(self, cluster: LiveCluster, one: _Watched, *, client_gone: bool) -> None:
        """What the ResourceManager says of an attempt whose client has left no result (yet)."""
        known = self._ask(cluster, one.job, one.attempt)
        self._runs(one, known, client_gone=client_gone)
        if not client_gone or any(not application.ended for application in known):
            return
        if one.cancelled:
            self._end(one, Progress.CANCELLED, applications=known)
        elif not known:
            self._end(one, Progress.FAILED, error="its launcher is gone, and YARN knows nothing of it")
        else:
            last = known[-1]
            error = last.diagnostics
            if one.own and last.succeeded:
                # It may have had more MR-jobs to run.
                error = f"its client is gone; the {len(known)} applications that it ran have ended"
            progress = Progress.SUCCEEDED if all(a.succeeded for a in known) and not one.own else Progress.FAILED
            self._end(one, progress, applications=known, error="" if progress is Progress.SUCCEEDED else error)

    def _runs(self, one: _Watched, known: tuple[Application, ...], *, client_gone: bool) -> None:
        """Report the start, once; without it the job has no time limit and keeps the next one waiting."""
        waited_us = self._mailbox.clock.now_us() - one.since_us
        if one.told or not (known or (not client_gone and (one.own or waited_us > _PATIENCE_US))):
            return
        one.told = True
        application = known[0] if known else None
        self._tell(
            one,
            Progress.RUNNING,
            application=application.id if application else "",
            started_us=(application.started_us or None) if application else one.since_us,
        )

    def _finished(self, cluster: LiveCluster, one: _Watched, facts: Facts, stderr: str) -> None:
        if facts.get("exit") == "0":
            try:
                known = self._ask(cluster, one.job, one.attempt)
            except UnreadableError:
                known = ()
            self._end(one, Progress.SUCCEEDED, applications=known, facts=facts)
            return
        cancelled = one.cancelled or facts.get("cancelled") == "yes"
        known = self._ask(cluster, one.job, one.attempt)
        if any(not application.ended for application in known):
            # Its client was killed, the application was not: another attempt would run beside it.
            self._runs(one, known, client_gone=True)
            if cancelled:
                self._kill(cluster, known)
            return
        progress = Progress.CANCELLED if cancelled else Progress.FAILED
        if not cancelled and known and all(application.succeeded for application in known):
            blind = (_killed(facts) and not one.own) or (one.single and any(_lost_sight(stderr, a.id) for a in known))
            progress = Progress.SUCCEEDED if blind else Progress.FAILED
        error = "" if progress is Progress.SUCCEEDED else self._why(cluster, facts, known, stderr)
        self._end(one, progress, applications=known, facts=facts, error=error)

    def _why(self, cluster: LiveCluster, facts: Facts, known: tuple[Application, ...], stderr: str) -> str:
        """What there is to say of a failure; its exit code when nobody said anything."""
        said = why_failed(self._setup.masters(cluster), known, stderr, Deadline.after(_ANSWER_S))
        return said or f"exit code {facts.get('exit')}"

    def _end(
        self,
        one: _Watched,
        progress: Progress,
        *,
        applications: tuple[Application, ...] = (),
        facts: Facts | None = None,
        error: str = "",
    ) -> None:
        with self._lock:
            if self._watched.get(one.job) is not one:
                return
            del self._watched[one.job]
        began_us = facts.number("began_us") if facts else None
        ended_us = facts.number("ended_us") if facts else None
        started_us = applications[0].started_us if applications else began_us
        finished_us = applications[-1].finished_us if applications else ended_us
        self._tell(
            one,
            progress,
            application=applications[0].id if applications else "",
            started_us=started_us or began_us,
            finished_us=finished_us or ended_us,
            error=error,
        )

    def _tell(self, of: _Watched | StartJob, progress: Progress, **facts: object) -> None:
        log = "" if progress is Progress.SUCCEEDED else f"fawkes logs {of.cluster} --job {of.job}"

        def event(at_us: int) -> JobObserved:
            return JobObserved(
                at_us=at_us,
                job=of.job,
                attempt=of.attempt,
                progress=progress,
                log=log,
                **facts,  # type: ignore[arg-type]
            )

        self._mailbox.tell(event)

    def _begin(self, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> None:
        """Files first, then the launcher: what is missing is found before anything runs."""
        right = self._lease(cluster)
        command = self._setup.job_command(cluster, effect, details)
        self._upload.job_files(cluster.master, right, effect, details, command.conf)
        script = book.start(right, effect.job, effect.attempt, command.argv, env=command.env)
        self._ground.run(cluster.master, script, "starting a job")

    def _ask(self, cluster: LiveCluster, job: JobId, attempt: int) -> tuple[Application, ...]:
        return masters.applications(self._setup.masters(cluster), Deadline.after(_ANSWER_S), tag=tag_of(job, attempt))

    def _look_script(self, cluster: LiveCluster, job: JobId, attempt: int) -> Script:
        return book.look(self._ground.folders(cluster.master, cluster.id), job, attempt)

    def _lease(self, cluster: LiveCluster) -> Lease:
        generation = cluster.members[cluster.master].generation
        return self._ground.lease(cluster.master, cluster.id, generation)

    def _cluster(self, cluster: ClusterId) -> LiveCluster:
        known = self._clusters.get(cluster)
        if known is None:
            raise FawkesError(f"{cluster} has no masters")
        return known


def _killed(facts: Facts) -> bool:
    """Whether the client was ended by a signal: then its exit code says nothing about the job."""
    return (facts.number("exit") or 0) > _SIGNALS


def _lost_sight(stderr: str, application: str) -> bool:
    """Whether a client gave up because the history server did not know its job, when that had just ended."""
    return f"Unknown Job {application.replace('application_', 'job_')}" in stderr
