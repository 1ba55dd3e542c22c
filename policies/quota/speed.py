"""SPEED: more cores for slower records, none above the request (Baresi et al. 6.2)."""

from fawkes.policy import Claim, Portion

NAME = "SPEED"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """The mean of all nominal rates over its own as the weight; a claim without a rate counts as the mean."""
    rates = [claim.rate for claim in claims if claim.rate]
    mean = sum(rates) / len(rates) if rates else 1.0
    return [Portion(weight=mean / (claim.rate or mean), most=claim.requested) for claim in claims]
