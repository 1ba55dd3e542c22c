"""Cases of the chapter: a workload under a policy on a medium, and the models that refute."""

from __future__ import annotations

from dataclasses import dataclass

from fawkes.offline.studies.preemption import fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Differences of a refuting model: one thing is changed, the rest is the same.

    ``medium`` takes the place of all media. ``freeze``: victims stop when they are chosen, not when their dump begins.
    ``lossy``: a restored task starts again. ``basic``: the policy `checkpoint` takes the place of `adaptive`. ``every``
    multiplies the time between important jobs, and ``arrival_s`` is that of the rig's. ``blind``: estimates know no
    restores. ``full``: each dump is full. ``capped``: the cap on kills is in force.
    """

    medium: str = ""
    freeze: bool = False
    lossy: bool = False
    basic: bool = False
    every: float = 1.0
    arrival_s: float = fixed.RIG_ARRIVAL_S
    blind: bool = False
    full: bool = False
    capped: bool = True


MODELS = {
    "": Model(),
    "equal": Model(medium="nvm"),
    "slow": Model(medium="hdd"),
    "free": Model(medium="free"),
    "freeze": Model(freeze=True),
    "lossy": Model(lossy=True),
    "basic": Model(basic=True),
    "rare": Model(every=2.0),
    "late": Model(arrival_s=45.0),
    "blind": Model(blind=True),
    "full": Model(full=True),
    "no-cap": Model(capped=False),
}
"""The model as it is (""), and those that refute, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run. ``mbps`` is the bandwidth of the rig's medium; ``copies`` are replicas of an image in HDFS."""

    workload: str
    policy: str
    medium: str = "nvm"
    seed: int = fixed.SEEDS[0]
    cap: int | None = None
    mbps: float | None = None
    copies: int = 1
    model: str = ""

    @property
    def slope(self) -> float:
        """Seconds that a GB takes to be written or read."""
        medium = MODELS[self.model].medium or self.medium
        if medium == "free":
            return 1e-9
        return fixed.SLOPES[medium] if self.mbps is None else 1024 / self.mbps


def seven(workload: str) -> dict[str, Case]:
    """The seven policies of a workload by name: kill, and checkpoint and adaptive on each medium."""
    cases = {"kill": Case(workload=workload, policy="kill")}
    for policy in ("checkpoint", "adaptive"):
        cases |= {f"{policy} {medium}": Case(workload=workload, policy=policy, medium=medium) for medium in fixed.MEDIA}
    return cases
