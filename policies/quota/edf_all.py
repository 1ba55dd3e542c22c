"""EDF_ALL: the earliest deadline takes a core for each unfinished task, whatever it requests (Baresi et al. 6.2)."""

from fawkes.policy import Claim, Portion

NAME = "EDF_ALL"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """One after another by deadline; claims without a deadline share the rest by their requests."""
    return [Portion(first=claim.left_s, weight=claim.requested) for claim in claims]
