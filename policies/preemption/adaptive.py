"""ADAPTIVE: a task is saved if that costs less than its progress, otherwise killed (Li, section 3.3.1, Algorithm 1)."""

from fawkes.policy import Choice, Victim

NAME = "ADAPTIVE"


def preempt(victims: tuple[Victim, ...]) -> list[Choice]:
    """The shortest dump goes first. A task whose progress is not known is saved."""
    return [Choice("save", below_s=victim.progress_s, first=victim.dump_s) for victim in victims]
