"""WEIGHTS: shares by the weights of Fawkes's weighting policy, none above its request."""

from fawkes.policy import Claim, Portion

NAME = "WEIGHTS"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """The weight of the application's or the MR-cluster's demand, usage or performance."""
    return [Portion(weight=claim.weight, most=claim.requested) for claim in claims]
