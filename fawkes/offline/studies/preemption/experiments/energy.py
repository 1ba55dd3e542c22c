"""Energy: half of a machine's watts without work, and the rest by its use (3.2.3.4, 3.4.3.1)."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.experiments import google, rig, yarn
from fawkes.offline.studies.preemption.experiments.experiment import PreemptionStudy, reported
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import lines
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement

_SWEEP = (rig.WAIT, rig.KILL, *rig.SWEEP.values())


def _wait_best(study: PreemptionStudy) -> Finding:
    wait = study.mean(rig.WAIT, "energy")
    others = [study.mean(case, "energy") for case in (rig.KILL, *rig.SWEEP.values())]
    return f"the others at least {min(others) / wait:.3f} of wait", min(others) > wait * (1 + 1e-6)


def _levels(study: PreemptionStudy) -> Finding:
    ratios = yarn.over_kill(study, "energy")
    text = ", ".join(f"{medium} {100 * (value - 1):+.0f} %" for medium, value in ratios.items())
    return text, all(abs(value - fixed.YARN[medium].energy) <= fixed.ENERGY_OFF for medium, value in ratios.items())


def _sweep(study: PreemptionStudy) -> pd.DataFrame:
    """Energy of the rig over the bandwidth, as a ratio to wait."""
    wait = study.mean(rig.WAIT, "energy")
    return pd.DataFrame(
        {
            "mbps": mbps,
            "kill": round(study.mean(rig.KILL, "energy") / wait, 3),
            **{
                policy: round(study.mean(rig.SWEEP[policy, mbps], "energy") / wait, 3)
                for policy in ("checkpoint", "adaptive")
            },
        }
        for mbps in fixed.SWEEP_MBPS
    )


def _ratios(study: PreemptionStudy) -> pd.DataFrame:
    """Energy of the workloads as a ratio to kill."""
    return pd.DataFrame(
        {
            "policy": name,
            "yarn": round(study.ratio(case, yarn.KILL, "energy"), 2),
            "yarn_paper": reported(
                fixed.YARN[name.partition(" ")[2]].energy if name.startswith("checkpoint") else None
            ),
            "google": round(study.ratio(google.CASES[name], google.KILL, "energy"), 2),
        }
        for name, case in yarn.CASES.items()
    )


ENERGY = Experiment(
    statements=(
        Statement("6-rig", "3.2.3.4", "two jobs: wait takes the least energy at every bandwidth", _wait_best,
                  "checkpoints that take no time", ("free",), _SWEEP),
        Statement("6-yarn", "3.4.3.1", "YARN workload: -21, -29 and -34 % against kill (within 6 points)", _levels,
                  "media that are all as slow as HDD", ("slow",), (yarn.KILL, *yarn.BASIC.values())),
    ),
    exhibits=(
        Exhibit("6-rig", "Energy of the two jobs", "Ratios to wait.", ("6-rig",), _sweep,
                lines("mbps", ("kill", "checkpoint", "adaptive"), "MB/s", "energy over wait")),
        Exhibit("6-energy", "Energy of the workloads", "Ratios to kill, seed by seed.", ("6-yarn",), _ratios),
    ),
    cases=tuple(google.CASES.values()),
)  # fmt: skip
