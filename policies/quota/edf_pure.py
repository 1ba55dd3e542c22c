"""EDF_PURE: the earliest deadline gets what it requests, the next ones what is left (Baresi et al. 6.2)."""

from fawkes.policy import Claim, Portion

NAME = "EDF_PURE"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """One after another by deadline; claims without a deadline share the rest by their requests."""
    return [Portion(first=claim.left_s, weight=claim.requested, most=claim.requested) for claim in claims]
