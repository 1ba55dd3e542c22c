"""KILL: tasks are killed at once and start again later (Li, section 3.2.3.4)."""

from fawkes.policy import Choice, Victim

NAME = "KILL"


def preempt(victims: tuple[Victim, ...]) -> list[Choice]:
    """All are killed, in the order in which they are given."""
    return [Choice("kill") for _ in victims]
