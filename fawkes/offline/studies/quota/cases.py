"""Cases of the chapter: which applications run, how, and in which model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.fixed import APPLICATIONS, StudyApplication, StudyArrival


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaModel:
    """Differences of a refuting model: one thing is missing, the rest is the same.

    ``control``: controllers correct the plan. ``theta``: the exponent of speed; None: that of the application.
    """

    control: bool = True
    gamma: float | None = None
    alpha: float | None = None
    theta: float | None = None
    tasks: int | None = None
    narrow: bool = True
    work: float = 1.0
    skewed: bool = True


MODELS = {
    "": QuotaModel(),
    "open-loop": QuotaModel(control=False),
    "coarse": QuotaModel(tasks=fixed.COARSE_TASKS),
    "linear": QuotaModel(theta=1.0),
    "wide": QuotaModel(narrow=False),
    "gamma-0": QuotaModel(gamma=0.0),
    "gamma-1": QuotaModel(gamma=1.0),
    "alpha-1": QuotaModel(alpha=1.0),
    "heavy": QuotaModel(work=fixed.HEAVY),
    "light": QuotaModel(work=fixed.LIGHT),
    "even": QuotaModel(skewed=False),
}
"""The model as it is (""), and those that refute, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaCase:
    """One run. An arrival with a ``deadline_s`` below 0 has one that is its time on all cores times ``relaxed``.

    ``skew`` is that of the last stage's data, ``profiled`` that of the profile's run. ``nodes`` are those at the start;
    at ``change_s`` there are ``nodes_then``. ``fifo``: stock Spark, one after another on all cores.
    """

    arrivals: tuple[StudyArrival, ...]
    seed: int
    strategy: str = "edf_pure"
    gamma: float = 0.0
    alpha: float = 1.0
    beta: float = 0.3
    relaxed: float = 1.0
    skew: float | None = None
    profiled: float | None = None
    nodes: int = fixed.NODES
    nodes_then: int = fixed.NODES
    change_s: float = 0.0
    fifo: bool = False
    traced: bool = False
    model: str = ""

    def under(self, model: str) -> QuotaCase:
        """The same case in another model."""
        return replace(self, model=model)


def alone(app: str, relaxed: int, seed: int, alpha: float = 1.0, beta: float = 0.3) -> QuotaCase:
    """An application alone, with a deadline that is relaxed by so many percent."""
    arrival = StudyArrival(app, 0.0, -1.0, APPLICATIONS[app].work_s)
    return QuotaCase(arrivals=(arrival,), seed=seed, relaxed=1 + relaxed / 100, alpha=alpha, beta=beta)


def theta_of(app: StudyApplication, model: QuotaModel) -> float:
    """The exponent of speed in a model."""
    return app.theta if model.theta is None else model.theta
