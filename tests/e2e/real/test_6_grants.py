"""YARN never runs more tasks of a job than an admission policy granted it, also when the controller is killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.core.values.decision import PutLearned
from fawkes.core.values.lifecycle import MOVING
from fawkes.core.values.model import JobLife
from fawkes.live.wire.rest import listed
from tests.support.site import RealSite

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

TWO = '''"""Two CPUs for each job; it remembers the work of those that ended."""

from fawkes.policy import Done, Job, Memory, Queue, Verdict, max_cpus

NAME = "TWO"


def admit(queue: Queue, memory: Memory) -> list[Verdict]:
    """As many as fit, first come, first served."""
    waiting = [job for job in queue.jobs if not job.granted]
    return [Verdict(job.id, min(2, max_cpus(job.tasks, queue.total)), asked=2) for job in waiting[: queue.free // 2]]


def learn(done: Done, memory: Memory) -> Memory:
    """One more."""
    return [*(memory or []), done.work_s]


def late(job: Job, memory: Memory) -> bool:
    """A job runs on."""
    return False
'''
SLEEPS = 'kind = "sleep"\nmaps = 4\nmap_time = "2s"\nreduces = 3\nreduce_time = "2s"\ndeadline = "30m"\n'
#: a program of which Fawkes cannot know how many MR-jobs it has
PROGRAM = """
kind = "class"
class = "org.apache.hadoop.mapreduce.SleepJob"
jar = "jobclient-tests"
args = ["-m", "4", "-mt", "2000", "-r", "1", "-rt", "1000"]
tasks = 5
deadline = "30m"
"""


@pytest.fixture
def granting(site: RealSite) -> Iterator[RealSite]:
    """The site with an admission policy; afterwards as it was. No node moves meanwhile.

    Maps of a node that leaves run again, beside the reduces: a job may have twice its grant at work then
    (docs/decisions/grants-on-yarn.md), and the work of an attempt that was killed counts as well.
    """
    usual = site.site.settings_file.read_text()
    site.write("policies/admission/two.py", TWO)
    site.stop()
    site.write("fawkes.toml", f'admission = "two"\n{usual}')
    site.run()
    site.fawkes("pause", "--reason", "grants")
    site.until("moves to end", lambda: all(state.life not in MOVING for state in site.state.nodes.values()))
    yield site
    site.write("fawkes.toml", usual)
    site.heal()
    site.stop()
    site.run()
    site.fawkes("resume")


def spans(site: RealSite, cluster: str, job: str) -> list[list[tuple[int, int, str]]]:
    """When each attempt of each task of a job ran, in milliseconds, and how it ended, by the JobHistory server.

    A task's own times have the wait between two of its attempts in them, when nothing runs and no counter counts.
    """
    (application,) = site.applications(cluster, job)
    tasks = f"jobs/{application['id'].replace('application', 'job')}/tasks"
    known = listed(site.history(cluster, tasks), "tasks", "task", tasks)
    attempts = [f"{tasks}/{task['id']}/attempts" for task in known]
    found = [listed(site.history(cluster, one), "taskAttempts", "taskAttempt", one) for one in attempts]
    return [[(row["startTime"], row["finishTime"], row["state"]) for row in rows if row["startTime"]] for rows in found]


def most_at_once(running: list[tuple[int, int, str]]) -> int:
    """The most tasks that ran at the same moment.

    An attempt that was killed has given its container back before its end is written down, so it does not count.
    """
    ran = [(begin, end) for begin, end, state in running if state == "SUCCEEDED"]
    return max(sum(begin <= at < end for begin, end in ran) for at, _ in ran)


def spent_ms(running: list[tuple[int, int, str]], *states: str) -> int:
    """How long the attempts ran that ended in one of these states; all attempts without any.

    Hadoop's counter has a map twice that is killed after its success and before its process has ended.
    """
    return sum(end - begin for begin, end, state in running if not states or state in states)


def test_a_granted_job_runs_no_more_tasks_and_is_admitted_and_learned_once(granting: RealSite) -> None:
    site, begin = granting, granting.now()
    site.fawkes("submit", "alpha", site.job("sleeps", SLEEPS))
    site.fawkes("submit", "beta", site.job("program", PROGRAM))
    site.until("the job to run", lambda: site.ledger.jobs["sleeps"].life is JobLife.RUNNING)
    site.kill()
    site.run()
    jobs = site.until_ended("sleeps", "program")
    assert [(job.life, job.granted, job.met) for job in jobs] == [(JobLife.SUCCEEDED, 2, True)] * 2, site.story()
    learned: Any = site.until(
        "both to be learned from", lambda: len(site.state.learned) == len(jobs) and dict(site.state.learned)
    )
    for job, cluster in zip(jobs, ("alpha", "beta"), strict=True):
        assert job.granted_of > job.granted + 2, "there was room for more"
        tasks = spans(site, cluster, job.id)
        running = [span for attempts in tasks for span in attempts]
        assert (len(tasks), most_at_once(running)) == (job.spec.tasks, 2), sorted(running)
        (work_s,) = learned[cluster]
        assert spent_ms(running) <= round(1000 * work_s) <= spent_ms(running) + spent_ms(running, "KILLED"), running
    admitted = [(r.facts["job"], r.facts["cpus"]) for r in site.ledger.reasons("job-admitted", after=begin)]
    assert sorted(admitted) == [("program", 2), ("sleeps", 2)]
    changes = [change for entry in site.ledger.entries[begin:] for change in entry.decision.changes]
    assert len([change for change in changes if isinstance(change, PutLearned)]) == len(jobs)
    (application,) = site.applications("beta", "program")
    assert application["queue"] == "root.granted.fawkes-program-1"
