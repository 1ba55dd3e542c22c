"""CHECKPOINT: tasks are always saved, whatever that costs ("basic" in Li, section 3.2.3.4)."""

from fawkes.policy import Choice, Victim

NAME = "CHECKPOINT"


def preempt(victims: tuple[Victim, ...]) -> list[Choice]:
    """All are saved, in the order in which they are given."""
    return [Choice("save") for _ in victims]
