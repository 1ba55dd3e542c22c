"""Parts that tests of quotas share: bundled policies, claims, and the paper's model of a stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fawkes.core.quota import control
from fawkes.core.quota.values import Claim, Divide, Parameters
from fawkes.policy import policy_text
from fawkes.policy.quota import compile_quota

FOLDER = Path(__file__).parents[3] / "policies" / "quota"
NAMES = ("edf_all", "edf_prop", "edf_pure", "proportional", "speed", "weights")
FINE = 1e-9
"""A quantum for traces that were made without one."""


def quota(name: str) -> Divide:
    path = FOLDER / f"{name}.py"
    return compile_quota(policy_text(name.upper(), str(path), path.read_text("utf-8")), own=True)


def table_1() -> list[Claim]:
    """The three executors of Table 1 on 16 cores."""
    return [
        Claim(id="A", requested=10, most=16, left_s=50, rate=6e6),
        Claim(id="B", requested=8, most=16, left_s=60, rate=6e6),
        Claim(id="C", requested=12, most=16, left_s=70, rate=3e6),
    ]


class Stage:
    """One executor on eq. 8 to 10, D_o = 1,000 tasks at K_f = 2 tasks a second and core, to be done in 100 s."""

    def __init__(self, *, pole: float = 0.0, phi: float = 1.0, eta: float = 10.0, true: float = 1.0) -> None:
        self.parameters = Parameters(pole=pole, phi=phi, eta=eta, quantum=FINE)
        self.true = true
        self.requests: list[float] = []
        self.given: list[float] = []
        self.percents: list[float] = []
        self.end_s: float | None = None

    def run(self, most: Callable[[float], float] = lambda now_s: 16.0, *, back: bool = True) -> Stage:
        """Let it run for at most 300 s with this cap; without ``back`` the state is not calculated back (19)."""
        state = control.begin(1000, 2, now_s=0, deadline_s=100, initial=5, parameters=self.parameters)
        rate, done, previous = 0.0, 0.0, 0.0
        for step in range(600):
            now_s = step * 0.5
            self.percents.append(done / 10)
            state, wanted = control.request(state, now_s, done, most=16, parameters=self.parameters)
            cores = min(wanted, most(now_s))
            state = control.apply(state, cores) if back else state
            self.requests.append(wanted)
            self.given.append(cores)
            before, done = done, done + 0.5 * rate
            if done >= 1000 and self.end_s is None:
                self.end_s = now_s + 0.5 * (1000 - before) / (done - before)
                return self
            pole = self.parameters.pole
            previous = rate
            rate = pole * previous + (1 - pole) * 2 * self.true * cores
        return self

    @property
    def area(self) -> float:
        """Core seconds given."""
        return sum(self.given) * 0.5
