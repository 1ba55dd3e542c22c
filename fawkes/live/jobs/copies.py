"""Copies between the HDFS of an MR-cluster and another one, run by the MR-cluster itself, and their comparison.

A copy is an attempt of the launcher of jobs, as a job is: it outlives the controller, is found again by its tag, and
what an earlier controller began is waited for. Its name has a dot, which no job of a user may have. Whether an attempt
may begin and how it ended is decided in `core.attempts`, as for a job.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

from fawkes.base.errors import HostError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.jobs.attempts import AttemptVerdict, CopyCourse, may_begin
from fawkes.core.jobs.copied import Compared
from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.model import JobId, JobSpec
from fawkes.core.values.tags import COPY
from fawkes.live.base import limits
from fawkes.live.data import loading
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs.attempts import see
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.nodes.upload import Upload
from fawkes.playbook.dist.compile.compiled import COPIES, jar_of

_DISTCP = "org.apache.hadoop.tools.DistCp"
_COMPARE = "fawkes.copies.Compare"


def load_job(source: str, target: str) -> JobDetails:
    """The copy of an ``hdfs://`` folder into the MR-cluster; what is there already and equal is left alone.

    Each file's checksum is compared, for which its blocks must be as long as those of its source. A file whose checksum
    is not known is left alone as well.
    """
    return _distcp(source, target, "-update")


def save_job(source: str, target: str) -> JobDetails:
    """The copy of a folder to an ``hdfs://`` URL: whole or not at all, and only where nothing is yet."""
    return _distcp(source, target, "-atomic")


def _distcp(source: str, target: str, how: str) -> JobDetails:
    return JobDetails(
        kind="class",
        title=f"copy {source} to {target}",
        main_class=_DISTCP,
        args=(how, "-pbt", "-strategy", "dynamic", source, target),
    )


def _comparison(source: str, target: str) -> JobDetails:
    return JobDetails(
        kind="class",
        title=f"compare {source} with {target}",
        jar=str(jar_of(COPIES)),
        main_class=_COMPARE,
        args=(source, target),
    )


class Copies:
    """Brings copies to their end; ``stopping`` ends every wait.

    An attempt that left nothing behind counts as gone after ``quiet_us``, by ``now_us``, a clock that nobody sets.
    """

    def __init__(
        self,
        ground: Ground,
        setup: Setup,
        upload: Upload,
        stopping: threading.Event,
        *,
        quiet_us: int,
        now_us: Callable[[], int],
    ) -> None:
        self._ground = ground
        self._setup = setup
        self._upload = upload
        self._stopping = stopping
        self._quiet_us = quiet_us
        self._now_us = now_us

    def run(
        self, cluster: LiveCluster, name: str, details: JobDetails, stop: Callable[[], bool], *, fresh: bool = False
    ) -> int:
        """The attempt that completed the copy, once it has; HostError when a new attempt fails.

        Attempts that failed for an earlier call are skipped: what was wrong then may have been put right. When a new
        one is made is the core's to say. With ``fresh`` one that has succeeded is skipped as well: nobody knows what
        became of its target since.
        """
        attempt = 0
        while True:
            attempt += 1
            verdict, new = self._follow(cluster, _id(name), attempt, details, stop)
            if verdict.progress is Progress.SUCCEEDED and (new or not fresh):
                return attempt
            if new:
                raise HostError(f"{details.title} failed: {verdict.error or verdict.progress}", host=cluster.master)

    def compare(self, cluster: LiveCluster, name: str, source: str, target: str, stop: Callable[[], bool]) -> Compared:
        """A comparison of a folder with its copy that was begun by this call; HostError when it fails.

        FawkesError as `jar_of` when the cache has lost its program, and it cannot be made again.
        """
        name = f"{name}-compare"
        attempt = self.run(cluster, name, _comparison(source, target), stop, fresh=True)
        script = book.said(self._ground.folders(cluster.master, cluster.id), _id(name), attempt)
        facts, _ = self._ground.look(cluster.master, script, within_s=limits.ATTEMPT_S)
        try:
            return Compared.of(json.loads(facts.get("said", "")))
        except (KeyError, TypeError, ValueError) as error:
            raise HostError(f"nobody knows how {target} compares with {source}", host=cluster.master) from error

    def _follow(
        self, cluster: LiveCluster, job: JobId, attempt: int, details: JobDetails, stop: Callable[[], bool]
    ) -> tuple[AttemptVerdict, bool]:
        """The end of an attempt, and whether it is one of this call; it is begun when nobody has begun it."""
        course = CopyCourse()
        new = False
        while not stop():
            seen = see(self._ground, self._setup, cluster, job, attempt)
            if not new and may_begin(seen):
                self._begin(cluster, job, attempt, details)
                new, course = True, CopyCourse(began=True)
                continue
            course = course.after(seen, self._now_us())
            verdict = course.verdict(self._quiet_us)
            if verdict is not None and verdict.progress is not Progress.RUNNING:
                return verdict, new
            self._stopping.wait(limits.COPY_EVERY_S)
        raise loading.StoppedError("the copy was stopped", where=cluster.id)

    def _begin(self, cluster: LiveCluster, job: JobId, attempt: int, details: JobDetails) -> None:
        node = cluster.master
        right = self._ground.lease(node, cluster.id, cluster.members[node].generation)
        effect = StartJob(job, cluster.id, attempt, JobSpec(id=job, cluster=cluster.id))
        command = self._setup.job_command(cluster, effect, details)
        self._upload.job_files(node, right, effect, details, command.conf)
        script = book.start(right, effect.job, attempt, command.argv, env=command.env)
        self._ground.run(node, script, "starting a copy")


def _id(name: str) -> JobId:
    return JobId(f"{COPY}{name}")
