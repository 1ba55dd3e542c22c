"""4.2 and 4.6.1: a stream alone whose load rises and falls; restart against elastic."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import lines
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import StreamCase
from fawkes.offline.studies.streams.experiments.experiment import StreamStudy

ELASTIC, DEFAULT, PEAK = (StreamCase(mode=mode) for mode in ("elastic", "default", "peak"))


def _downtime(study: StreamStudy) -> Finding:
    elastic, default = (study.mean(case, "stopped_s") for case in (ELASTIC, DEFAULT))
    rescales = study.mean(DEFAULT, "rescales")
    text = f"default {default:.0f} s in {rescales:.0f} rescales, elastic {elastic:.0f} s"
    return text, elastic == 0 and rescales > 0 and default == fixed.RESTART_S * rescales


def _waste(study: StreamStudy) -> Finding:
    unneeded = study.mean(PEAK, "unneeded")
    return f"{unneeded:.0f} %", abs(unneeded - fixed.WASTE) <= fixed.WASTE_OFF


def _throughput(study: StreamStudy) -> Finding:
    change = study.change(ELASTIC, DEFAULT, "served")
    return f"{change:+.0f} %", change > 0


def _latency(study: StreamStudy) -> Finding:
    change = study.change(ELASTIC, DEFAULT, "latency_s")
    return f"{change:+.0f} %", change < 0


def _course(study: StreamStudy) -> pd.DataFrame:
    """Records a second over time, every tenth second."""
    rows = zip(study.each(ELASTIC)[0]["course"], study.each(DEFAULT)[0]["course"], strict=True)
    return pd.DataFrame(
        {"at_s": row["at_s"], "arriving": row["rate"], "elastic": row["served"], "default": default["served"]}
        for row, default in list(rows)[::10]
    )


def _table(study: StreamStudy) -> pd.DataFrame:
    """Figures of the three ways to run the stream."""
    keys = ("served", "dropped", "latency_s", "stopped_s", "rescales")
    return study.table({"elastic": ELASTIC, "default": DEFAULT, "peak": PEAK}, keys)


_BOTH = (ELASTIC, DEFAULT)
RESCALE = Experiment(
    statements=(
        Statement("1-downtime", "4.2", "a rescale by restart stops the stream for 25 s; an elastic one does not",
                  _downtime, "a restart that takes no time; elastic rescales that stop", ("instant", "stop"), _BOTH),
        Statement("1-waste", "4.2", "peak operators in the low phase waste up to 67 % of the CPU", _waste,
                  "nothing", (), (PEAK,)),
        Statement("1-throughput", "4.6.1", f"elastic processes more than default ({fixed.THROUGHPUT}; order)",
                  _throughput, "a restart that takes no time", ("instant",), _BOTH),
        Statement("1-latency", "4.6.1", f"elastic has a lower latency than default ({fixed.LATENCY}; order)", _latency,
                  "a restart that takes no time", ("instant",), _BOTH),
    ),
    exhibits=(
        Exhibit("1-course", "A stream alone", "60 s low, 120 s high, 60 s low; the core's monitor decides.", ("1-",),
                _course, lines("at_s", ("arriving", "elastic", "default"), "s", "records/s")),
        Exhibit("1-table", "Restart against elastic", "The same runs.", (), _table),
    ),
)  # fmt: skip
