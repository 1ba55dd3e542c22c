"""Jobs: each attempt is begun once by a launcher on the master, found again by its tag, watched to its end."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from fawkes.config.details import JobDetails
from fawkes.core.effects import CancelJob, StartJob
from fawkes.core.events import JobObserved, Progress
from fawkes.core.model import ClusterId, JobId
from fawkes.core.tags import tag_of
from fawkes.errors import FawkesError, UserError
from fawkes.live import masters
from fawkes.live.applications import kill
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.masters import Application
from fawkes.live.playbooks import job as book
from fawkes.live.post import Mailbox
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.setup import Setup
from fawkes.live.upload import Upload
from fawkes.playbook import Facts, Lease, Script

_log = logging.getLogger(__name__)
_ANSWER_S = 10.0


@dataclass(slots=True)
class _Watched:
    """An attempt under way; ``told`` once its start was reported, ``cancelled`` once it was asked to stop."""

    job: JobId
    cluster: ClusterId
    attempt: int
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

    def start(self, effect: StartJob) -> None:
        """Begin the attempt unless it was begun; UserError when it never can be."""
        cluster = self._cluster(effect.cluster)
        details = JobDetails.of(effect.spec.details)
        known = self._ask(cluster, effect.job, effect.attempt)
        facts, _ = self._ground.look(cluster.master, self._look_script(cluster, effect.job, effect.attempt))
        if facts.get("state", "absent") in ("absent", "unborn") and not known:
            self._begin(cluster, effect, details)
        with self._lock:
            self._watched[effect.job] = _Watched(effect.job, effect.cluster, effect.attempt)

    def cancel(self, effect: CancelJob) -> None:
        """End the client and the applications of an attempt; how that ends is seen by `round`."""
        cluster = self._cluster(effect.cluster)
        self._ground.run(
            cluster.master, book.cancel(self._lease(cluster), effect.job, effect.attempt), "cancelling a job"
        )
        with self._lock:
            watched = self._watched.setdefault(effect.job, _Watched(effect.job, effect.cluster, effect.attempt))
            watched.cancelled = True
        for application in self._ask(cluster, effect.job, effect.attempt):
            if not application.ended:
                kill(self._setup.masters(cluster), application.id, Deadline.after(_ANSWER_S))

    def refused(self, effect: StartJob | CancelJob, error: FawkesError) -> None:
        """A goal that cannot be reached: a job that can never start has failed; anything else is tried again."""
        if isinstance(effect, StartJob) and isinstance(error, UserError):
            self._tell(effect.job, effect.attempt, Progress.REFUSED, error=str(error))

    def round(self) -> None:
        """Look at every attempt under way."""
        with self._lock:
            watched = list(self._watched.values())
        for one in watched:
            cluster = self._clusters.get(one.cluster)
            if cluster is None or not cluster.ready:
                continue
            try:
                self._observe(cluster, one)
            except FawkesError as error:
                _log.info("%s could not be looked at: %s", one.job, error)

    def _observe(self, cluster: LiveCluster, one: _Watched) -> None:
        facts, result = self._ground.look(cluster.master, self._look_script(cluster, one.job, one.attempt))
        state = facts.get("state", "")
        if state == "finished":
            self._finished(cluster, one, facts, result.stderr)
        elif state in ("running", "lost", "absent"):
            self._in_yarn(cluster, one, client_gone=state != "running")

    def _in_yarn(self, cluster: LiveCluster, one: _Watched, *, client_gone: bool) -> None:
        """What the ResourceManager says of an attempt whose client has left no result (yet)."""
        known = self._ask(cluster, one.job, one.attempt)
        if known and not one.told:
            one.told = True
            self._tell(
                one.job,
                one.attempt,
                Progress.RUNNING,
                application=known[0].id,
                started_us=known[0].started_us or None,
            )
        if not client_gone or any(not application.ended for application in known):
            return
        if not known:
            self._end(one, Progress.FAILED, error="its launcher is gone, and YARN knows nothing of it")
            return
        last = known[-1]
        progress = Progress.SUCCEEDED if all(a.succeeded for a in known) else Progress.FAILED
        self._end(one, progress, applications=known, error="" if last.succeeded else last.diagnostics)

    def _finished(self, cluster: LiveCluster, one: _Watched, facts: Facts, stderr: str) -> None:
        try:
            known = self._ask(cluster, one.job, one.attempt)
        except UnreadableError:
            known = ()
        if facts.get("exit") == "0":
            self._end(one, Progress.SUCCEEDED, applications=known, facts=facts)
            return
        cancelled = one.cancelled or facts.get("cancelled") == "yes"
        progress = Progress.CANCELLED if cancelled else Progress.FAILED
        self._end(one, progress, applications=known, facts=facts, error=_why(facts, known, stderr))

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
            one.job,
            one.attempt,
            progress,
            application=applications[0].id if applications else "",
            started_us=started_us or began_us,
            finished_us=finished_us or ended_us,
            error=error,
        )

    def _tell(self, job: JobId, attempt: int, progress: Progress, **facts: object) -> None:
        log = "" if progress is Progress.SUCCEEDED else f"fawkes logs CLUSTER --job {job}"

        def event(at_us: int) -> JobObserved:
            return JobObserved(
                at_us=at_us,
                job=job,
                attempt=attempt,
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


def _why(facts: Facts, known: tuple[Application, ...], stderr: str) -> str:
    """The ResourceManager's word on the application that failed, else the last words of the client."""
    for application in known:
        if application.ended and not application.succeeded and application.diagnostics:
            return application.diagnostics.strip().splitlines()[0]
    words = [line.strip() for line in stderr.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    telling = [line for line in words if "Exception" in line or "Error" in line or "error" in line]
    return (telling or words or [f"exit code {facts.get('exit')}"])[-1]
