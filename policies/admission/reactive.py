"""REACTIVE: equal parts for all jobs; one whose deadline passes is ended at that moment (Dimopoulos 4.2)."""

from fawkes.policy import Done, Job, Memory, Queue, Verdict, fill

NAME = "REACTIVE"


def admit(queue: Queue, memory: Memory, top_up: int = 1) -> list[Verdict]:
    """Each free CPU goes to who holds least; with ``top_up`` = 0 running jobs get no more than they began with."""
    return fill(queue, top_up=bool(top_up))


def learn(done: Done, memory: Memory) -> Memory:
    """Nothing is remembered."""
    return None


def late(job: Job, memory: Memory) -> bool:
    """Waiting or running, it is ended, and its CPUs are free."""
    return True
