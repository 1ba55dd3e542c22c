"""Copies between the HDFS of an MR-cluster and another one: DistCp, run by the MR-cluster itself.

A copy is an attempt of the launcher of jobs, as a job is: it outlives the controller, is found again by its tag, and
what an earlier controller began is waited for. Its name has a dot, which no job of a user may have.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from itertools import count

from fawkes.config.details import JobDetails
from fawkes.core.effects import StartJob
from fawkes.core.model import Facts, JobId, JobSpec
from fawkes.core.tags import COPY, tag_of
from fawkes.errors import HostError
from fawkes.live import loading, masters
from fawkes.live.clusters import LiveCluster
from fawkes.live.diagnosis import why_failed
from fawkes.live.ground import Ground
from fawkes.live.playbooks import job as book
from fawkes.live.rest import Deadline, UnreadableError
from fawkes.live.setup import Setup
from fawkes.live.upload import Upload

_LOOK_EVERY_S = 1.0
_ANSWER_S = 10.0
_DISTCP = "org.apache.hadoop.tools.DistCp"


def load_job(source: str, target: str) -> JobDetails:
    """The copy of an ``hdfs://`` folder into the MR-cluster; what is there already and equal is left alone.

    Each file's checksum is compared, for which its blocks must be as long as those of its source.
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


class Copies:
    """Brings copies to their end; ``stopping`` ends every wait."""

    def __init__(self, ground: Ground, setup: Setup, upload: Upload, stopping: threading.Event) -> None:
        self._ground = ground
        self._setup = setup
        self._upload = upload
        self._stopping = stopping

    def run(self, cluster: LiveCluster, name: str, details: JobDetails, stop: Callable[[], bool]) -> None:
        """Return when the copy is complete; HostError with the reason when a new attempt fails.

        Attempts that failed for an earlier call are skipped: what was wrong then may have been put right.
        """
        for attempt in count(1):
            facts, _ = self._look(cluster, name, attempt)
            new = facts.get("state", "absent") in ("absent", "unborn")
            if new and not stop():
                self._begin(cluster, name, attempt, details)
            why = self._end(cluster, name, attempt, stop)
            if not why:
                return
            if new:
                raise HostError(f"{details.title} failed: {why}", host=cluster.master)

    def _begin(self, cluster: LiveCluster, name: str, attempt: int, details: JobDetails) -> None:
        node = cluster.master
        right = self._ground.lease(node, cluster.id, cluster.members[node].generation)
        effect = StartJob(_id(name), cluster.id, attempt, JobSpec(id=_id(name), cluster=cluster.id))
        command = self._setup.job_command(cluster, effect, details)
        self._upload.job_files(node, right, effect, details, command.conf)
        script = book.start(right, effect.job, attempt, command.argv, env=command.env)
        self._ground.run(node, script, "starting a copy")

    def _end(self, cluster: LiveCluster, name: str, attempt: int, stop: Callable[[], bool]) -> str:
        """Wait for the end of an attempt: why it failed, empty when all was copied.

        The last step of a copy is done by the ApplicationMaster: a client may be killed, or lose sight of it.
        """
        addresses = self._setup.masters(cluster)
        tag = tag_of(_id(name), attempt)
        while not stop():
            facts, said = self._look(cluster, name, attempt)
            if facts.get("exit") == "0":
                return ""
            if facts.get("state") != "running":
                with contextlib.suppress(UnreadableError):
                    known = masters.all_applications(addresses, Deadline.after(_ANSWER_S), tag=tag)
                    if known and all(application.succeeded for application in known):
                        return ""
                    if all(application.ended for application in known):
                        why = why_failed(addresses, known, said, Deadline.after(_ANSWER_S))
                        return why or f"exit code {facts.get('exit', 'unknown')}"
            self._stopping.wait(_LOOK_EVERY_S)
        raise loading.StoppedError("the copy was stopped", where=cluster.id)

    def _look(self, cluster: LiveCluster, name: str, attempt: int) -> tuple[Facts, str]:
        script = book.look(self._ground.folders(cluster.master, cluster.id), _id(name), attempt)
        facts, result = self._ground.look(cluster.master, script)
        return facts, result.stderr


def _id(name: str) -> JobId:
    return JobId(f"{COPY}{name}")
