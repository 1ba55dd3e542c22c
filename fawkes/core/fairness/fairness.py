"""The unfairness with which nodes are divided (paper section 4.1; facts, section 2).

Shares and weights are fractions of the capacity in service, times are seconds here, so that the figures have the
units of the paper: D_i in share-seconds, the global discrimination and tau in share^2 s^2.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt


def discrimination(mean_share: float, weight: float, period_s: float) -> float:
    """D_i of eq. 2 over one interval: (mean c_i - w_i) T, in share-seconds; positive means too much."""
    return (mean_share - weight) * period_s


def global_discrimination(discriminations: Iterable[float]) -> float:
    """E[D^2] of eq. 3: the mean over active MR-clusters, not centred (idle nodes: facts, section 2); 0 for none."""
    squares = [value * value for value in discriminations]
    return fsum(squares) / len(squares) if squares else 0.0


def share_error(tau: float, period_s: float) -> float:
    """The root-mean-square share error that a threshold tau stands for: sqrt(tau) / T."""
    return sqrt(tau) / period_s
