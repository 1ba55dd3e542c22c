"""ORACLE: knows the work of each job and grants exactly what it needs (Dimopoulos 4.2); for offline runs alone."""

from fawkes.policy import Ask, Done, Job, Memory, Queue, Verdict, by_request, whole_cpus

NAME = "ORACLE"
NEEDS_WORK = True


def admit(queue: Queue, memory: Memory, priority: str = "req/ttd") -> list[Verdict]:
    """Its work over the time that is left, in whole CPUs."""

    def request(job: Job) -> Ask:
        if job.work_s is None or job.deadline_s is None:
            raise ValueError(f"the work of {job.id} is not known")
        return Ask(whole_cpus(job.work_s / (job.deadline_s - job.waited_s)), why={"work_s": job.work_s})

    return by_request(queue, request, priority)


def learn(done: Done, memory: Memory) -> Memory:
    """It knows already."""
    return None


def late(job: Job, memory: Memory) -> bool:
    """One that waits is ended; none that runs is late by more than the rounding of a sum."""
    return not job.granted
