"""Jobs with priorities and tasks that can be saved, as nodes and masters tell of them; other jobs cost nothing here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fawkes.core.values.sight import Work
from fawkes.core.values.tags import tag_of
from fawkes.sim.hadoop.tasks import Running, SimJob, TaskAttempt


def running(task: TaskAttempt, now_us: int, left_us: int) -> Running:
    """The task as its node tells of it."""
    array = task.job.effect.spec.details.get("array")
    memory_mb = array.get("memory_mb") if isinstance(array, Mapping) else None
    memory = memory_mb << 20 if isinstance(memory_mb, int) else None
    kills, restore_us = task.brought.kills, task.brought.restore_us
    return Running(task.job.attempt, task.number, now_us - task.since_us, left_us, memory, kills, restore_us)


def by_priority(jobs: Collection[SimJob]) -> list[SimJob]:
    """The jobs as YARN serves them: higher priorities first, and equal ones in their order."""
    return sorted(jobs, key=lambda job: -job.effect.spec.priority)


def work_of(jobs: Collection[SimJob]) -> tuple[Work, ...] | None:
    """The progress of each job, where tasks of one can be saved; None where nothing depends on it."""
    if not any(job.effect.spec.saves for job in jobs):
        return None
    return tuple(
        Work(
            tag=tag_of(*job.attempt),
            application=f"application_{job.attempt[0]}_{job.attempt[1]}",
            master=job.ready or job.master is not None or bool(job.steps),
            waiting=job.tasks_waiting if job.ready else None,
            running=len(job.running),
            done=job.maps_done + job.reduces_done,
            resumes=job.resumes,
        )
        for job in jobs
    )
