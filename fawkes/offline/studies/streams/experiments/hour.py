"""4.6.2.2: an hour of alternating load; batch tasks that lose their cores are killed or saved."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import StreamCase
from fawkes.offline.studies.streams.experiments.experiment import StreamStudy

CASES = {
    policy: StreamCase(mode="elastic", batch=policy, load="alternating")
    for policy in ("kill", "checkpoint", "adaptive")
}


def _jobs(study: StreamStudy) -> Finding:
    kill, saved = (study.mean(CASES[policy], "jobs") for policy in ("kill", "checkpoint"))
    return f"{kill:.0f} and {saved:.0f} jobs ({100 * (saved / kill - 1):+.0f} %)", saved > kill


def _table(study: StreamStudy) -> pd.DataFrame:
    """Figures of the hour under three preemption policies."""
    return study.table(CASES, ("jobs", "job_s", "served", "latency_s", "over_s", "rescales"))


HOUR = Experiment(
    statements=(
        Statement("3-jobs", "4.6.2.2", f"more batch jobs end in an hour with checkpoints than kills ({fixed.JOBS})",
                  _jobs, "kills that lose nothing; saved tasks that stop", ("lossless",), tuple(CASES.values())),
    ),
    exhibits=(
        Exhibit("3-hour", "An hour of alternating load", "2 min low, 2 min high, 15 times.", ("3-",), _table),
    ),
)  # fmt: skip
