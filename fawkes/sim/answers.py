"""What simulated masters answer about the attempts of jobs."""

from __future__ import annotations

from fawkes.core.effects import CountWork
from fawkes.core.events import AttemptSeen, Done, Failed, Progress
from fawkes.core.sight import AppLife, AppSeen, Attempt, Launcher
from fawkes.sim.model import Cluster
from fawkes.sim.tasks import End, JobAttempt


def runs(attempt: JobAttempt, started_us: int, now_us: int) -> AttemptSeen:
    """An attempt runs; its application started then."""
    seen = Attempt(launcher=Launcher.RUNNING, applications=_application(attempt, started_us))
    return AttemptSeen(at_us=now_us, job=attempt[0], attempt=attempt[1], seen=seen)


def ended(attempt: JobAttempt, end: End, now_us: int) -> AttemptSeen:
    """What a launcher leaves: its exit code and its application."""
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


def work_counted(effect: CountWork, cluster: Cluster | None, now_us: int) -> Done | Failed:
    """The time of the tasks of an attempt that has succeeded; a final `Failed` when nobody knows such an attempt."""
    end = None if cluster is None else cluster.ended.get((effect.job, effect.attempt))
    if end is None or end.progress is not Progress.SUCCEEDED:
        error = f"no attempt {effect.attempt} of {effect.job} has succeeded in {effect.cluster}"
        return Failed(at_us=now_us, effect=effect.key, version=effect.attempt, error=error, final=True)
    return Done(at_us=now_us, effect=effect.key, version=effect.attempt, facts={"work_us": end.work_us})


def _application(attempt: JobAttempt, started_us: int, end: End | None = None) -> tuple[AppSeen, ...]:
    """The one application of an attempt, as YARN knows it while it runs and at its end."""
    life = AppLife.LIVE
    if end is not None:
        life = AppLife.SUCCEEDED if end.progress is Progress.SUCCEEDED else AppLife.FAILED
    return (
        AppSeen(
            id=f"application_{attempt[0]}_{attempt[1]}",
            life=life,
            started_us=started_us,
            finished_us=end.finished_us if end else None,
        ),
    )
