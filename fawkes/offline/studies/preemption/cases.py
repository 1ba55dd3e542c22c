"""Cases of the chapter: a workload under a policy on a medium, and the models that refute."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fawkes.offline.studies.preemption import fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionModel:
    """Differences of a refuting model: one thing is changed, the rest is the same.

    ``medium`` takes the place of all media, and ``free`` takes no time. ``freeze``: victims stop when they are chosen,
    not when their dump begins. ``lossy``: a restored task starts again. ``instead`` replaces adaptive. ``every``
    multiplies the time between important jobs, and ``arrival_s`` is that of the rig's. ``blind``: estimates know no
    restores. ``full``: each dump is full. ``capped``: the cap on kills is in force.
    ``tail``: preempted tasks wait at the end of the queue, not at the place of their job.
    """

    medium: str = ""
    free: bool = False
    freeze: bool = False
    lossy: bool = False
    instead: str = ""
    every: float = 1.0
    arrival_s: float = fixed.RIG_ARRIVAL_S
    blind: bool = False
    full: bool = False
    capped: bool = True
    tail: bool = False

    def changes(self, policy: str) -> bool:
        """True if the runs of a policy are other ones under this model."""
        if self.every != 1 or self.arrival_s != fixed.RIG_ARRIVAL_S or self.tail:
            return True
        if policy == "adaptive" and (self.blind or self.full):
            return True
        return policy in ("checkpoint", "adaptive") and (self.free or self.freeze or self.lossy)


_FREE = 1e-9
MODELS = {
    "": PreemptionModel(),
    "equal": PreemptionModel(medium="nvm"),
    "slow": PreemptionModel(medium="hdd"),
    "free": PreemptionModel(free=True),
    "freeze": PreemptionModel(freeze=True),
    "lossy": PreemptionModel(lossy=True),
    "basic": PreemptionModel(instead="checkpoint"),
    "rare": PreemptionModel(every=2.0),
    "late": PreemptionModel(arrival_s=45.0),
    "blind": PreemptionModel(blind=True),
    "full": PreemptionModel(full=True),
    "no-cap": PreemptionModel(capped=False),
    "tail": PreemptionModel(tail=True),
}
"""The model as it is (""), and those that refute, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionCase:
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
        if MODELS[self.model].free:
            return _FREE
        return fixed.SLOPES[self.medium] if self.mbps is None else 1024 / self.mbps

    def plain(self) -> PreemptionCase:
        """The case that is run for this one: a model that only names another medium, policy or cap is no other run."""
        model = MODELS[self.model]
        policy = model.instead if self.policy == "adaptive" and model.instead else self.policy
        saves = policy in ("checkpoint", "adaptive")
        medium = (model.medium or self.medium) if saves and self.mbps is None else "nvm"
        cap = self.cap if policy == "adaptive" and model.capped else None
        kept = self.model if model.changes(policy) else ""
        return replace(
            self, policy=policy, medium=medium, cap=cap, model=kept, copies=self.copies if saves else 1,
            mbps=self.mbps if saves else None,
        )  # fmt: skip


def seven(workload: str) -> dict[str, PreemptionCase]:
    """The seven policies of a workload by name: kill, and checkpoint and adaptive on each medium."""
    cases = {"kill": PreemptionCase(workload=workload, policy="kill")}
    for policy in ("checkpoint", "adaptive"):
        cases |= {
            f"{policy} {medium}": PreemptionCase(workload=workload, policy=policy, medium=medium)
            for medium in fixed.MEDIA
        }
    return cases
