"""WAIT: whoever arrives waits until tasks end by themselves, or until a promised time (Li, section 3.2.3.4)."""

from fawkes.policy import Choice, Victim

NAME = "WAIT"


def preempt(victims: tuple[Victim, ...]) -> list[Choice]:
    """Nobody is displaced."""
    return [Choice("wait") for _ in victims]
