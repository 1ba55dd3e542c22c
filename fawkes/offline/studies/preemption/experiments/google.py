"""3.2.3.3 and 3.3.2.1: a day with three priorities, as in Google's trace."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import seven
from fawkes.offline.studies.preemption.experiments.experiment import PreemptionStudy, falling, listed, reported
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement

CASES = seven("google")
KILL = CASES["kill"]
BASIC = {medium: CASES[f"checkpoint {medium}"] for medium in fixed.MEDIA}
ADAPTIVE = {medium: CASES[f"adaptive {medium}"] for medium in fixed.MEDIA}


def _order(study: PreemptionStudy) -> Finding:
    waste = {"kill": study.mean(KILL, "waste"), **{name: study.mean(case, "waste") for name, case in BASIC.items()}}
    return f"{listed(waste, 1)} %", falling(list(waste.values()))


def _low(study: PreemptionStudy) -> Finding:
    ratios = {medium: study.ratio(case, KILL, "low") for medium, case in BASIC.items()}
    return f"{listed(ratios)} of kill", max(ratios.values()) < 1


def _worse(study: PreemptionStudy) -> Finding:
    ratios = {
        f"{level} {medium}": study.ratio(BASIC[medium], KILL, level)
        for level in ("medium", "high")
        for medium in ("hdd", "nvm")
    }
    return f"{listed(ratios)} of kill", all(
        ratios[f"{level} hdd"] > 1 + fixed.NEUTRAL and ratios[f"{level} nvm"] <= 1 + fixed.NEUTRAL
        for level in ("medium", "high")
    )


def _gains(study: PreemptionStudy) -> Finding:
    ratios = {
        level: [study.ratio(ADAPTIVE[medium], BASIC[medium], level) for medium in fixed.MEDIA]
        for level in ("low", "medium", "high")
    }
    text = "; ".join(f"{level} {', '.join(f'{each:.2f}' for each in row)}" for level, row in ratios.items())
    return f"{text} of checkpoint", all(
        row[0] < 1 and row[0] < row[1] and row[0] < row[2] and row[1] <= row[2] + fixed.NEUTRAL
        for row in ratios.values()
    )


def _table(study: PreemptionStudy) -> pd.DataFrame:
    """Waste and response times beside the thesis."""
    rows = []
    for name, case in CASES.items():
        policy, _, medium = name.partition(" ")
        rows.append(
            {
                "policy": name,
                "waste": round(study.mean(case, "waste"), 1),
                "waste_paper": reported(fixed.GOOGLE_WASTE.get(medium or name) if policy != "adaptive" else None),
                **{level: round(study.ratio(case, KILL, level), 2) for level in ("low", "medium", "high")},
                "energy": round(study.ratio(case, KILL, "energy"), 2),
                "kills": round(study.mean(case, "kills")),
                "most_kills": round(study.mean(case, "most_kills")),
                "full": round(study.mean(case, "full")),
                "incremental": round(study.mean(case, "incremental")),
            }
        )
    return pd.DataFrame(rows)


_BASICS = (KILL, *BASIC.values())
GOOGLE = Experiment(
    statements=(
        Statement("5-order", "3.2.3.3", "waste: kill > HDD > SSD > NVM", _order, "media that are all as fast as NVM",
                  ("equal",), _BASICS),
        Statement("5-low", "3.2.3.3", "low jobs are faster than under kill on all media", _low,
                  "images that restore nothing", ("lossy",), _BASICS),
        Statement("5-high", "3.2.3.3", "medium and high jobs are slower on HDD; on NVM they are not", _worse,
                  "media that are all as slow as HDD, and as fast as NVM", ("slow", "equal"), _BASICS),
        Statement("5-adaptive", "3.3.2.1", "adaptive is faster than checkpoint for all, most on HDD, least on NVM",
                  _gains, "always saving", ("basic",), (*BASIC.values(), *ADAPTIVE.values())),
    ),
    exhibits=(
        Exhibit("5-google", "A day as in Google's trace",
                "Means of five seeds; response times and energy as ratios to kill, seed by seed. The thesis says -23 % "
                "for medium jobs on NVM, and equal energy on HDD and SSD: neither is judged.", ("5-",), _table,
                bars("policy", ("waste",), "waste (% of capacity)")),
    ),
)  # fmt: skip
