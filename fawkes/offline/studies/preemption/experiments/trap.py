"""The trap of Algorithm 1 (not in the thesis): long queues of dumps make it kill the same tasks again and again."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import PreemptionCase
from fawkes.offline.studies.preemption.experiments.experiment import PreemptionStudy
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement

BASIC = PreemptionCase(workload="trap", policy="checkpoint", medium="hdd")
FREE = replace(BASIC, policy="adaptive")
GUARDED = replace(FREE, cap=fixed.TRAP_CAP)
_CAPS = {"no cap": FREE, **{f"cap {cap}": replace(FREE, cap=cap) for cap in (10, fixed.TRAP_CAP, 2, 1)}}

_LIVELOCK = {
    name: replace(case, workload="livelock", medium="ssd")
    for name, case in {"checkpoint": BASIC, "no cap": FREE, f"cap {fixed.TRAP_CAP}": GUARDED}.items()
}


def _livelock(study: PreemptionStudy) -> Finding:
    saved, free, _ = (study.mean(case, "low") for case in _LIVELOCK.values())
    kills = study.mean(_LIVELOCK["no cap"], "kills")
    return f"{free:.0f} s with {kills:.0f} kills, checkpoint {saved:.0f} s", free >= fixed.LIVELOCK_LEAST * saved


def _unlocked(study: PreemptionStudy) -> Finding:
    saved, _, guarded = (study.mean(case, "low") for case in _LIVELOCK.values())
    return f"{guarded:.0f} s, checkpoint {saved:.0f} s", guarded <= fixed.GUARD_MOST * saved


def _livelock_table(study: PreemptionStudy) -> pd.DataFrame:
    """The long task under each policy."""
    return pd.DataFrame(
        {
            "policy": name,
            "low_s": round(study.mean(case, "low")),
            "kills": round(study.mean(case, "kills")),
            "full": round(study.mean(case, "full")),
            "incremental": round(study.mean(case, "incremental")),
        }
        for name, case in _LIVELOCK.items()
    )


def _trap(study: PreemptionStudy) -> Finding:
    ratio = study.ratio(FREE, BASIC, "low")
    most = max(row["most_kills"] for row in study.each(FREE))
    return f"low {ratio:.2f} of checkpoint, a task is killed up to {most} times", ratio >= fixed.TRAP_LEAST


def _capped(study: PreemptionStudy) -> Finding:
    most = max(row["most_kills"] for row in study.each(GUARDED))
    return f"a task is killed up to {most} times", most <= fixed.TRAP_CAP


def _guarded(study: PreemptionStudy) -> Finding:
    ratio, free = study.ratio(GUARDED, BASIC, "low"), study.ratio(FREE, BASIC, "low")
    return f"low {ratio:.2f} of checkpoint, {free:.2f} without the cap", ratio <= fixed.GUARD_MOST and ratio < free


def _table(study: PreemptionStudy) -> pd.DataFrame:
    """Checkpoint and adaptive with several caps, on disks."""
    rows = [
        {
            "policy": name,
            **{level: round(study.ratio(case, BASIC, level), 2) for level in ("low", "medium", "high")},
            "waste": round(study.mean(case, "waste"), 1),
            "kills": round(study.mean(case, "kills")),
            "most_kills": max(row["most_kills"] for row in study.each(case)),
            "dumps": round(study.mean(case, "full") + study.mean(case, "incremental")),
        }
        for name, case in {"checkpoint": BASIC, **_CAPS}.items()
    ]
    return pd.DataFrame(rows)


TRAP = Experiment(
    statements=(
        Statement("7-trap", "sheet 4.4",
                  "4 GB and a wave each 700 s on HDD: adaptive makes low jobs at least 1.5 times as slow as checkpoint",
                  _trap, "always saving", ("basic",), (BASIC, FREE)),
        Statement("7-cap", "sheet 4.4", "with the cap no task is killed more than 5 times", _capped, "no cap",
                  ("no-cap",), (GUARDED,)),
        Statement("7-guard", "sheet 4.4", "with the cap low jobs are at most 1.5 times as slow as under checkpoint",
                  _guarded, "no cap", ("no-cap",), (BASIC, FREE, GUARDED)),
        Statement("8-livelock", "sheet 4.4", "tasks are killed again and again: 3 times as long as with checkpoint",
                  _livelock, "always saving", ("basic",), tuple(_LIVELOCK.values())),
        Statement("8-guard", "sheet 4.4", "with the cap it takes at most 1.5 times as long as with checkpoint",
                  _unlocked, "no cap", ("no-cap",), tuple(_LIVELOCK.values())),
    ),
    exhibits=(
        Exhibit("8-livelock", "The mechanism of the trap",
                "One slot on SSD: a task of 600 s with 4 GB, and from 60 s on an important one of 20 s every 80 s, 200 "
                "times.", ("8-",), _livelock_table),
        Exhibit("7-trap", "The trap of Algorithm 1",
                "Google-like day with 4 GB a task and a wave each 700 s, on HDD; means of five seeds, response "
                "times as ratios to checkpoint.", ("7-",), _table,
                bars("policy", ("low", "medium", "high"), "over checkpoint")),
    ),
    cases=tuple(_CAPS.values()),
)  # fmt: skip
