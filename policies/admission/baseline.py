"""BASELINE: equal parts for all jobs, blind to deadlines; nobody is ever dropped (Dimopoulos 4.2, "NoDrop FS")."""

from fawkes.policy import Done, Job, Memory, Queue, Verdict, fill

NAME = "BASELINE"


def admit(queue: Queue, memory: Memory, top_up: int = 1) -> list[Verdict]:
    """Each free CPU goes to who holds least; with ``top_up`` = 0 running jobs get no more than they began with."""
    return fill(queue, top_up=bool(top_up))


def learn(done: Done, memory: Memory) -> Memory:
    """Nothing is remembered."""
    return None


def late(job: Job, memory: Memory) -> bool:
    """A job runs on after its deadline."""
    return False
