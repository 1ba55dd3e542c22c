"""FIFO: first come, first served, whatever the deadlines are. Fawkes's own queue does this, and asks no policy."""

from fawkes.policy import Done, Job, Memory, Queue, Verdict, max_cpus

NAME = "FIFO"


def admit(queue: Queue, memory: Memory) -> list[Verdict]:
    """All that could work for the first job; the second comes when the first leaves something."""
    verdicts, free = [], queue.free
    for job in queue.jobs:
        if not job.granted and free > 0:
            cpus = min(max_cpus(job.tasks, queue.total), free)
            verdicts.append(Verdict(job.id, cpus, asked=cpus))
            free -= cpus
    return verdicts


def learn(done: Done, memory: Memory) -> Memory:
    """Nothing is remembered."""
    return None


def late(job: Job, memory: Memory) -> bool:
    """A job runs on after its deadline."""
    return False
