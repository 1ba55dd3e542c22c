"""Chapters 4 and 5 of the dissertation on deadlines: which runs its tables, figures and statements need."""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.offline.studies.flat.deadlines import TYPES, VARIABLE
from fawkes.offline.studies.flat.grid import FlatCell, cells

SEEDS = (1, 2, 3, 4, 5)
#: readings that are shown besides, and TR2, whose runs take eight times as long
FEW_SEEDS, ONE_SEED = (1, 2), (1,)

BASELINE, REACTIVE, ORACLE, PYTHIA, JUSTICE = "BASELINE", "REACTIVE", "ORACLE", "PYTHIA", "JUSTICE"
STATIC_BASELINE, STATIC_REACTIVE = "BASELINE[top_up=0]", "REACTIVE[top_up=0]"
#: Justice as printed: errors against the CPUs granted; a killed job only says that it failed
J0 = "JUSTICE[rounding=literal]"
#: errors before rounding, and killed jobs teach their true work, which a simulator alone knows
J1 = "JUSTICE[learn_killed=work]"
#: no correction (algorithm 5 left out)
J2 = "JUSTICE[rounding=literal,correction=none]"
#: the default of Fawkes: errors before rounding
J3 = "JUSTICE"
#: killed jobs teach nothing, as chapter 5 has it; smoothing; the average that the text names; all late jobs are killed
FURTHER: Mapping[str, str] = {
    "J0 blind to kills": "JUSTICE[rounding=literal,learn_killed=none]",
    "J0 smoothed": "JUSTICE[rounding=literal,correction=ema]",
    "J3 smoothed": "JUSTICE[correction=ema]",
    "average of 5.4.1": "JUSTICE[fraction=average,correction=none]",
    "J0 kills all": "JUSTICE[rounding=literal,kill_threshold=0]",
}
READINGS: Mapping[str, str] = {"J0": J0, "J1": J1, "J2": J2, "J3": J3}

TR1_SMALL, TR1_MIDDLE, TR1_LARGE = 2250, 4500, 15_000
TR1_CAPACITIES = (TR1_SMALL, TR1_MIDDLE, 9345, TR1_LARGE)
TR2_SMALL, TR2_MIDDLE = 2500, 5000
TR2_CAPACITIES = (TR2_SMALL, TR2_MIDDLE, 15_000)
KINDS = tuple(TYPES)
#: the variable types of chapter 4, which has no 90loose
OF_CHAPTER_4 = tuple(kind for kind in VARIABLE if kind != "90loose")
#: the allocators of each chapter, as its tables name them
CHAPTER_4: Mapping[str, str] = {
    "NoDrop": BASELINE,
    "Reactive": REACTIVE,
    "Oracle": ORACLE,
    "PYTHIA": PYTHIA,
    "static NoDrop": STATIC_BASELINE,
    "static Reactive": STATIC_REACTIVE,
}
CHAPTER_5: Mapping[str, str] = {
    "Baseline": BASELINE,
    "Reactive": REACTIVE,
    "Oracle": ORACLE,
    "PYTHIA": PYTHIA,
    **{f"Justice {name}": text for name, text in READINGS.items() if name != "J3"},
}
#: the follow-up paper leaves PYTHIA out
FOLLOW_UP: Mapping[str, str] = {name: text for name, text in CHAPTER_5.items() if text != PYTHIA}
MAIN = (*CHAPTER_5.values(), J3)
OF_TR2 = (*FOLLOW_UP.values(), J3)
PRIORITIES = ("PYTHIA[priority=ttd]", "JUSTICE[priority=ttd]", "PYTHIA[priority=fifo]", "JUSTICE[priority=fifo]")


def chapter_runs() -> list[FlatCell]:
    """Everything that the chapter's page is made of."""
    tr1 = (TR1_SMALL, TR1_MIDDLE)
    return [
        *cells("TR1", SEEDS, KINDS, tr1, MAIN),
        *cells("TR1", SEEDS, ("Fixed2x",), TR1_CAPACITIES[2:], (BASELINE, REACTIVE, ORACLE, PYTHIA)),
        *cells("TR1", FEW_SEEDS, KINDS, tr1, (STATIC_BASELINE, STATIC_REACTIVE, *FURTHER.values())),
        *cells("TR1", FEW_SEEDS, ("Fixed2x",), TR1_CAPACITIES[2:], (STATIC_BASELINE, STATIC_REACTIVE)),
        *cells("TR1", FEW_SEEDS, OF_CHAPTER_4, tr1, PRIORITIES),
        *cells("TR2", ONE_SEED, ("Fixed2x",), TR2_CAPACITIES, (BASELINE, REACTIVE, ORACLE, PYTHIA)),
        *cells("TR2", ONE_SEED, KINDS, (TR2_SMALL, TR2_MIDDLE), OF_TR2),
    ]


def quick_chapter_runs() -> list[FlatCell]:
    """TR1 with one seed: what takes a few minutes."""
    return [
        *cells("TR1", ONE_SEED, KINDS, (TR1_SMALL, TR1_MIDDLE), MAIN),
        *cells("TR1", ONE_SEED, ("Fixed2x",), TR1_CAPACITIES[2:], (BASELINE, REACTIVE, ORACLE, PYTHIA)),
    ]
