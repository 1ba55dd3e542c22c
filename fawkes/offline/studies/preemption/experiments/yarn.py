"""3.4.3: forty jobs with 7,000 tasks on YARN, under seven policies."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import seven
from fawkes.offline.studies.preemption.experiments.experiment import PreemptionStudy, falling, listed, reported
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement, VerdictReason

CASES = seven("yarn")
KILL = CASES["kill"]
BASIC = {medium: CASES[f"checkpoint {medium}"] for medium in fixed.MEDIA}
ADAPTIVE = {medium: CASES[f"adaptive {medium}"] for medium in fixed.MEDIA}
_COPIES = {copies: replace(BASIC["ssd"], copies=copies) for copies in fixed.REPLICATION}


def over_kill(study: PreemptionStudy, key: str) -> dict[str, float]:
    """A figure of checkpoint on each medium, as a ratio to kill."""
    return {medium: study.ratio(case, KILL, key) for medium, case in BASIC.items()}


def _killed(study: PreemptionStudy) -> Finding:
    waste = study.mean(KILL, "waste")
    return f"{waste:.1f} %", abs(waste - fixed.YARN["kill"].waste) <= fixed.WASTE_OFF


def _at_the_tail(study: PreemptionStudy) -> Finding:
    """The same two rules where preempted tasks wait at the end of the queue."""
    tail = replace(study, model="tail")
    (killed, fits), (cut, halves) = _killed(tail), _hdd_cut(tail)
    return f"kill wastes {killed} there, and HDD changes that by {cut}", fits and halves


def _order(study: PreemptionStudy) -> Finding:
    waste = {"kill": study.mean(KILL, "waste"), **{name: study.mean(case, "waste") for name, case in BASIC.items()}}
    return f"{listed(waste, 1)} %", falling(list(waste.values()))


def _hdd_cut(study: PreemptionStudy) -> Finding:
    cut = study.ratio(BASIC["hdd"], KILL, "waste") - 1
    return f"{100 * cut:+.0f} %", abs(cut - fixed.YARN["hdd"].cut) <= fixed.CUT_OFF


def _fast_cuts(study: PreemptionStudy) -> Finding:
    cuts = {medium: 1 - value for medium, value in over_kill(study, "waste").items() if medium != "hdd"}
    text = ", ".join(f"{medium} -{100 * cut:.0f} %" for medium, cut in cuts.items())
    return text, cuts["ssd"] >= fixed.SSD_CUT and cuts["nvm"] >= fixed.NVM_CUT


def _low(study: PreemptionStudy) -> Finding:
    ratios = over_kill(study, "low")
    return f"{listed(ratios)} of kill", max(ratios.values()) < 1 and falling(list(ratios.values()))


def _high(study: PreemptionStudy) -> Finding:
    ratios = over_kill(study, "high")
    return f"{listed(ratios)} of kill", falling(list(ratios.values())) and ratios["nvm"] <= fixed.NEAR_KILL


def _cpu(study: PreemptionStudy) -> Finding:
    basic = {medium: study.mean(case, "cpu") for medium, case in BASIC.items()}
    adaptive = {medium: study.mean(case, "cpu") for medium, case in ADAPTIVE.items()}
    text = ", ".join(f"{medium} {basic[medium]:.1f} to {adaptive[medium]:.1f} %" for medium in fixed.MEDIA)
    return text, (
        adaptive["hdd"] <= fixed.CPU_CUT * basic["hdd"]
        and adaptive["ssd"] < basic["ssd"]
        and max(basic["nvm"], adaptive["nvm"]) < 1
    )


def _io(study: PreemptionStudy) -> Finding:
    basic = {medium: study.mean(case, "io") for medium, case in BASIC.items()}
    adaptive = {medium: study.mean(case, "io") for medium, case in ADAPTIVE.items()}
    text = ", ".join(f"{medium} {basic[medium]:.1f} to {adaptive[medium]:.1f} %" for medium in fixed.MEDIA)
    return text, all(adaptive[medium] < basic[medium] for medium in ("hdd", "ssd"))


def _adaptive_high(study: PreemptionStudy) -> Finding:
    ratios = {medium: study.ratio(ADAPTIVE[medium], BASIC[medium], "high") for medium in fixed.MEDIA}
    return f"{listed(ratios)} of checkpoint", (
        ratios["hdd"] < 1 - fixed.NEUTRAL and abs(ratios["nvm"] - 1) <= fixed.NEUTRAL
    )


def _table(study: PreemptionStudy) -> pd.DataFrame:
    """Waste, overheads and response times beside the thesis."""
    rows = []
    for name, case in CASES.items():
        policy, _, medium = name.partition(" ")
        known = fixed.YARN.get(medium or name) if policy != "adaptive" else None
        rows.append(
            {
                "policy": name,
                "waste": round(study.mean(case, "waste"), 1),
                "waste_paper": reported(known and known.waste),
                "cpu": round(study.mean(case, "cpu"), 1),
                "cpu_paper": reported(fixed.YARN_CPU.get((policy, medium))),
                "io": round(study.mean(case, "io"), 1),
                "io_paper": reported(fixed.YARN_IO.get((policy, medium))),
                "low": round(study.ratio(case, KILL, "low"), 2),
                "low_paper": reported(known and known.low),
                "high": round(study.ratio(case, KILL, "high"), 2),
                "kills": round(study.mean(case, "kills")),
                "full": round(study.mean(case, "full")),
                "incremental": round(study.mean(case, "incremental")),
            }
        )
    return pd.DataFrame(rows)


def _copies(study: PreemptionStudy) -> pd.DataFrame:
    """Checkpoint on SSD with one, two and three replicas of each image."""
    return pd.DataFrame(
        {
            "replicas": copies,
            "waste": round(study.mean(case, "waste"), 1),
            "high": round(study.ratio(case, KILL, "high"), 2),
            "low": round(study.ratio(case, KILL, "low"), 2),
        }
        for copies, case in _COPIES.items()
    )


_BASICS = (KILL, *BASIC.values())
_BOTH = (*BASIC.values(), *ADAPTIVE.values())
_TAIL = VerdictReason(
    "the thesis does not say where preempted tasks wait; at the end of the queue instead of the place of their job "
    "both rules on the waste of kill and HDD hold",
    _at_the_tail,
    tuple(replace(case, model="tail") for case in (KILL, BASIC["hdd"])),
)
_ALL_NVM, _ALL_HDD, _ALWAYS = "media that are all as fast as NVM", "media that are all as slow as HDD", "always saving"
YARN = Experiment(
    statements=(
        Statement("3-kill", "3.4.3.1", "kill wastes about 28 % of capacity (within 3 points)", _killed,
                  "important jobs half as often", ("rare",), (KILL,), _TAIL),
        Statement("3-order", "3.4.3.1", "waste: kill > HDD > SSD > NVM", _order, _ALL_NVM, ("equal",), _BASICS),
        Statement("3-hdd", "3.4.3.1", "HDD halves the waste (-50 %, within 10 points)", _hdd_cut,
                  "victims that stop when they are chosen, images that restore nothing", ("freeze", "lossy"),
                  (KILL, BASIC["hdd"]), _TAIL),
        Statement("3-fast", "3.4.3.1", "SSD cuts the waste by 60 % or more, NVM by 65 % or more", _fast_cuts,
                  _ALL_HDD, ("slow",), _BASICS),
        Statement("3-low", "3.4.3.1", "low jobs are faster on all media: HDD < SSD < NVM", _low,
                  f"{_ALL_HDD}, images that restore nothing", ("slow", "lossy"), _BASICS),
        Statement("3-high", "3.4.3.1", "high jobs: HDD > SSD > NVM, and NVM within 5 % of kill", _high, _ALL_HDD,
                  ("slow",), _BASICS),
        Statement("4-cpu", "3.4.3.3", "adaptive halves the CPU overhead on HDD, lowers it on SSD, NVM stays near 0",
                  _cpu, _ALWAYS, ("basic",), _BOTH),
        Statement("4-io", "3.4.3.3", "adaptive writes and reads less on HDD and SSD", _io, _ALWAYS, ("basic",), _BOTH),
        Statement("4-high", "3.4.3.2", "adaptive: high jobs are faster on HDD, the same on NVM", _adaptive_high,
                  _ALWAYS, ("basic",), _BOTH),
    ),
    exhibits=(
        Exhibit("3-yarn", "The YARN workload",
                "Means of ten seeds. `waste` in percent of capacity, `cpu` in percent of the used time, `io` of the "
                "devices' time; `low` and `high` are response times as ratios to kill, seed by seed. The thesis says "
                "-28, -16 and -20 % for low jobs under adaptive against checkpoint; that flips with load and is not "
                "judged.", ("3-", "4-"), _table,
                bars("policy", ("waste", "cpu", "io"), "percent")),
        Exhibit("3-replicas", "Replicas of images in HDFS", "Checkpoint on SSD. A dump with two replicas takes 2.1 "
                "times as long, with three 2.2 times; that is an assumption, so nothing is judged.", (), _copies),
    ),
    cases=tuple(_COPIES.values()),
)  # fmt: skip
