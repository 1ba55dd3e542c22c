"""PROPORTIONAL: all cores by what is requested (Baresi et al. 6.2)."""

from fawkes.policy import Claim, Portion

NAME = "PROPORTIONAL"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """The request as the weight; all that a claim can use as its most."""
    return [Portion(weight=claim.requested) for claim in claims]
