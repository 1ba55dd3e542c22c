"""4.6.2: batch jobs beside the stream, with 80 % and 20 % of the cores promised, lent while they are idle."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import lines
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement, VerdictReason
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import StreamCase
from fawkes.offline.studies.streams.experiments.experiment import StreamStudy
from fawkes.offline.studies.streams.experiments.rescale import ELASTIC as ALONE

ELASTIC, DEFAULT = (StreamCase(mode=mode, batch="kill") for mode in ("elastic", "default"))
LONGER, LONGER_DEFAULT = (StreamCase(mode=mode, batch="kill", load="longer") for mode in ("elastic", "default"))
SAVING = StreamCase(mode="elastic", batch="checkpoint")


def _jobs(study: StreamStudy) -> Finding:
    change = study.change(ELASTIC, DEFAULT, "job_s")
    return f"{change:+.0f} %", change < 0


def _longer(study: StreamStudy) -> Finding:
    change = study.change(LONGER, LONGER_DEFAULT, "job_s")
    return f"{change:+.0f} % where the low phase at the end is 180 s longer", change < 0


def _shares(study: StreamStudy) -> Finding:
    over = {case.batch: study.mean(case, "over_s") for case in (ELASTIC, SAVING)}
    lent = study.mean(ELASTIC, "lent_s")
    text = ", ".join(f"{name} {value:.0f} s over" for name, value in over.items())
    return f"{text}, lent for {lent:.0f} s", lent > 0 and over["kill"] == 0 and over["checkpoint"] <= fixed.RECLAIM_S


def _throughput(study: StreamStudy) -> Finding:
    low, high = (study.change(ELASTIC, ALONE, key) for key in ("low", "high"))
    return f"low {low:+.1f} %, high {high:+.1f} %", abs(low) < fixed.WASTE_OFF and high < 0


def _energy(study: StreamStudy) -> Finding:
    ours = [study.mean(case, "records_j") for case in (DEFAULT, ELASTIC, ALONE)]
    return f"{ours[1] / ours[0]:.2f} and {ours[2] / ours[1]:.2f} times", ours[0] < ours[1] < ours[2]


def _course(study: StreamStudy) -> pd.DataFrame:
    """Cores of the batch jobs over time, every tenth second."""
    courses = [study.each(case)[0]["course"][::10] for case in (ELASTIC, SAVING, DEFAULT)]
    return pd.DataFrame(
        {"at_s": rows[0]["at_s"], **{name: row["batch"] for name, row in zip(_NAMES, rows, strict=True)}}
        for rows in zip(*courses, strict=True)
    )


def _table(study: StreamStudy) -> pd.DataFrame:
    """Figures of the streams with batch jobs, and of the elastic one alone."""
    cases = dict(zip((*_NAMES, "elastic alone"), (ELASTIC, SAVING, DEFAULT, ALONE), strict=True))
    return study.table(cases, ("served", "latency_s", "batch_core_s", "lent_s", "over_s", "records_j"))


_NAMES = ("elastic, kill", "elastic, checkpoint", "default")
BESIDE = Experiment(
    statements=(
        Statement("2-jobs", "4.6.2.2", f"batch jobs end sooner beside an elastic stream ({fixed.BATCH}; order)", _jobs,
                  "idle cores that are not lent", ("own-only",), (ELASTIC, DEFAULT),
                  VerdictReason("until the load falls both streams are alike, and later jobs end after the run",
                                _longer, (LONGER, LONGER_DEFAULT))),
        Statement("2-shares", "4.5.2", "batch jobs have more than 20 % only while the stream leaves cores", _shares,
                  "cores that are not claimed back", ("keeps",), (ELASTIC, SAVING)),
        Statement("2-throughput", "4.6.2.2", "with batch jobs: equal throughput in the low phase, lower in the high",
                  _throughput, "batch jobs without a promise", ("no-share",), (ELASTIC, ALONE)),
        Statement("2-energy", "4.6.2.2", f"records/J: default < elastic < elastic alone ({fixed.ENERGY})", _energy,
                  "a restart that takes no time", ("instant",), (DEFAULT, ELASTIC, ALONE)),
    ),
    exhibits=(
        Exhibit("2-course", "Cores of the batch jobs", "The stream claims its cores back when it grows.", ("2-",),
                _course, lines("at_s", _NAMES, "s", "cores")),
        Exhibit("2-table", "The stream with and without batch jobs", "The same runs.", (), _table),
    ),
)  # fmt: skip
