"""``[quota]`` in ``fawkes.toml``: how the cores of nodes are divided among Spark applications with deadlines."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from fawkes.base.units import SECOND_US, show_duration
from fawkes.config.files.fields import PositiveDurationUs, between
from fawkes.config.files.loader import Strict, wrong
from fawkes.core.quota.values import LIVE, Parameters, QuotaRules

RULES = QuotaRules()
_LEAST_PERIOD_US = SECOND_US // 10
#: quotas that are late by so many periods must not be taken for a controller that is gone
_PERIODS = 4
Part = Annotated[float, between(0.01, 1, "it is a part of the time")]
Trust = Annotated[float, between(0, 1, "it is a part")]
Eta = Annotated[float, between(1.01, 1000, "a controller with less is not stable")]
Pole = Annotated[float, between(0, 0.99, "the response would never come")]
Quantum = Annotated[float, between(0.01, 1, "a node has at least one core, and no limit is finer than a hundredth")]


class QuotaTable(Strict):
    """``[quota]``: the parameters of Baresi et al., Table 3, and the patience of the loop."""

    policy: str = Field(default="edf_pure", min_length=1, description="the quota policy: a name or the path of a file")
    alpha: Part = Field(default=LIVE.alpha, description="the part of the time to a deadline that is planned with")
    beta: Trust = Field(default=LIVE.beta, description="how much the number of stages counts beside their durations")
    gamma: Trust = Field(default=LIVE.gamma, description="0: idle cores stay idle; 1: tasks may use all of them")
    phi: Part = Field(default=LIVE.phi, description="the part of a stage's time by which it should be done")
    eta: Eta = Field(default=LIVE.eta, description="how calm the controllers are: more is slower")
    pole: Pole = Field(default=LIVE.pole, description="how slowly tasks respond to cores; 0: within a period")
    period_us: PositiveDurationUs = Field(
        default=round(LIVE.period_s * SECOND_US), alias="period", description="how often quotas are set"
    )
    quantum: Quantum = Field(default=LIVE.quantum, description="quotas are multiples of so many cores")
    least: Quantum = Field(default=LIVE.least, description="the least quota of an executor that lives")
    silent_us: PositiveDurationUs = Field(
        default=RULES.silent_us, alias="silent", description="when a driver that says nothing has no limit any more"
    )
    guard_us: PositiveDurationUs = Field(
        default=RULES.guard_us, alias="guard", description="when a node that hears of no controller lifts its limits"
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.period_us < _LEAST_PERIOD_US:
            raise wrong(f"a period of {show_duration(self.period_us)} is too short", "Give 100ms or more")
        if self.guard_us < _PERIODS * self.period_us:
            guard, period = show_duration(self.guard_us), show_duration(self.period_us)
            raise wrong(
                f"a guard of {guard} would lift limits that are set every {period}",
                f"Make guard at least {_PERIODS} periods long",
            )
        return self

    def rules(self) -> QuotaRules:
        """The rules of the loop."""
        values = {name: getattr(self, name) for name in ("alpha", "beta", "gamma", "phi", "eta", "pole", "quantum")}
        parameters = Parameters(**values, least=self.least, period_s=self.period_us / SECOND_US)
        return QuotaRules(parameters=parameters, silent_us=self.silent_us, guard_us=self.guard_us)
