"""The standing of an attempt: by its launcher on the node of the masters, and by its applications in YARN.

Facts alone; `core.attempts` decides what they mean, for the jobs of users and for copies.
"""

from __future__ import annotations

import re
from dataclasses import replace

from fawkes.core.values.model import JobId
from fawkes.core.values.sight import AppLife, AppSeen, Attempt, ClientCause, Launcher, Resumes
from fawkes.core.values.tags import tag_of
from fawkes.live.base import limits
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs.diagnosis import cause_of, why_failed
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.wire import masters
from fawkes.live.wire.masters import YarnApplication
from fawkes.live.wire.rest import Deadline, UnreadableError

#: the last words of the ApplicationMaster of a job of tasks (java-tasks/Spec.java)
_CAME_BACK = re.compile(r"Tasks that went on: (\d+), after (\d+) ms without a container and (\d+) ms of reading")


def see(
    ground: Ground,
    setup: Setup,
    cluster: LiveCluster,
    job: JobId,
    attempt: int,
    *,
    own: bool = False,
    single: bool = False,
) -> Attempt:
    """The standing of an attempt; its applications are not known while the ResourceManager is not sure of them.

    HostError when the node of the masters does not answer.
    """
    script = book.look(ground.folders(cluster.master, cluster.id), job, attempt)
    facts, result = ground.look(cluster.master, script, within_s=limits.ATTEMPT_S)
    launcher, exit_code = _launcher(facts.get("state", "")), facts.number("exit")
    seen = Attempt(
        launcher=launcher,
        exit=exit_code,
        began_us=facts.number("began_us"),
        ended_us=facts.number("ended_us"),
        cancelled=facts.get("cancelled") == "yes",
        displaced=facts.get("displaced") == "yes",
        own=own,
        single=single,
    )
    try:
        known = applications_of(setup, cluster, job, attempt)
    except UnreadableError as error:
        return replace(seen, error=str(error))
    seen = replace(seen, applications=tuple(map(_application, known)))
    ended = launcher in (Launcher.FINISHED, Launcher.LOST) and exit_code != 0
    if not ended or any(not application.ended for application in known):
        return seen
    cause, why = cause_of(result.stderr) if not known else (ClientCause.NOT_KNOWN, "")
    said = why or why_failed(setup.masters(cluster), known, result.stderr, Deadline.after(limits.APPLICATIONS_S))
    return replace(seen, words=said, cause=cause, lost_sight=any(_lost_sight(result.stderr, a.id) for a in known))


def applications_of(setup: Setup, cluster: LiveCluster, job: JobId, attempt: int) -> tuple[YarnApplication, ...]:
    """All applications of an attempt, oldest first; UnreadableError while the ResourceManager is not sure of them."""
    deadline = Deadline.after(limits.APPLICATIONS_S)
    return masters.all_applications(setup.masters(cluster), deadline, tag=tag_of(job, attempt))


def _launcher(state: str) -> Launcher:
    try:
        return Launcher(state)
    except ValueError:
        return Launcher.NOT_KNOWN


def _application(app: YarnApplication) -> AppSeen:
    life = AppLife.LIVE
    if app.ended:
        life = AppLife.SUCCEEDED if app.succeeded else AppLife.FAILED
    said = app.diagnostics.strip().partition("\n")[0] if life is AppLife.FAILED else ""
    return AppSeen(
        id=app.id,
        life=life,
        started_us=app.started_us or None,
        finished_us=app.finished_us,
        said=said,
        resumes=_resumes(app) if app.ended else None,
    )


def _resumes(app: YarnApplication) -> Resumes | None:
    match = _CAME_BACK.search(app.diagnostics)
    return Resumes(int(match[1]), int(match[2]) * 1000, int(match[3]) * 1000) if match else None


def _lost_sight(stderr: str, application: str) -> bool:
    """True if a client gave up because the history server did not know its job, when that had just ended."""
    return f"Unknown Job {application.replace('application_', 'job_')}" in stderr
