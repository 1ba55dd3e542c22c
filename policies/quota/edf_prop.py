"""EDF_PROP: shares by deadline, the earliest the largest, none above its request (Baresi et al. 6.2)."""

from fawkes.policy import Claim, Portion

NAME = "EDF_PROP"


def divide(claims: tuple[Claim, ...]) -> list[Portion]:
    """A weight of 1 minus the part of the time left; without a deadline a claim has what the others leave."""
    known = [claim.left_s for claim in claims if claim.left_s is not None]
    total = sum(left_s - min(known) + 1 for left_s in known)
    alone = len(known) < 2
    weights: dict[float | None, float] = {
        left_s: 1.0 if alone else 1 - (left_s - min(known) + 1) / total for left_s in known
    }
    return [Portion(weight=weights.get(claim.left_s, 0.0), most=claim.requested) for claim in claims]
