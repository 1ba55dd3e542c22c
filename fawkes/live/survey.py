"""Placeholder until the survey lands."""

from fawkes.core.model import Plain
from fawkes.live.clusters import LiveCluster
from fawkes.live.setup import Setup


def survey(cluster: LiveCluster, setup: Setup) -> dict[str, Plain]:
    """Nothing is known."""
    return {"undeclared": [], "applications": []}
