"""PYTHIA: as many CPUs as the tightest job so far would have needed, or no entry (Dimopoulos 4.1, algorithms 1, 2)."""

from fawkes.policy import Ask, Done, Job, Memory, Queue, Verdict, by_request, max_cpus, queue_factor, whole_cpus

NAME = "PYTHIA"


def admit(queue: Queue, memory: Memory, bootstrap: int = 2, priority: str = "req/ttd") -> list[Verdict]:
    """Let in jobs: until ``bootstrap`` jobs have ended every one is let in and asks for all that could work for it."""
    completed, fraction = memory or (0, 0.0)

    def request(job: Job) -> Ask:
        most = max_cpus(job.tasks, queue.total)
        if completed < bootstrap:
            return Ask(most, partial=True, why={"bootstrap": completed})
        factor = queue_factor(job)
        cpus = whole_cpus(fraction * factor * most)
        return Ask(cpus, why={"fraction": fraction, "queue_factor": factor})

    return by_request(queue, request, priority)


def learn(done: Done, memory: Memory, clamp: int = 1) -> Memory:
    """The largest fraction that any job needed; with ``clamp`` at most 1, and hopeless jobs teach nothing."""
    completed, fraction = memory or (0, 0.0)
    if done.work_s is None or done.deadline_s is None:
        return memory
    rate = done.work_s / done.deadline_s / max_cpus(done.tasks, done.total)
    known = fraction if clamp and rate > 1 + 1e-9 else max(fraction, rate)
    return [completed + 1, min(1.0, known) if clamp else known]


def late(job: Job, memory: Memory, kill_threshold: int = -1) -> bool:
    """One that waits is ended; one that runs goes on, but with more tasks than a ``kill_threshold`` of 0 or more."""
    return not job.granted or 0 <= kill_threshold < job.tasks
