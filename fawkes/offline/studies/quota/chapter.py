"""The chapter on quotas: its cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import MODELS
from fawkes.offline.studies.quota.experiments.alone import ALONE
from fawkes.offline.studies.quota.experiments.exact import EXACT
from fawkes.offline.studies.quota.experiments.experiment import QuotaStudy
from fawkes.offline.studies.quota.experiments.nodes import NODES
from fawkes.offline.studies.quota.experiments.skew import SKEW
from fawkes.offline.studies.quota.experiments.together import TOGETHER
from fawkes.offline.studies.quota.play import play
from fawkes.offline.studies.shared.chapter import Chapter

GAPS = (
    "The paper has neither the durations of single applications nor their stages. The parts of stages, and which of "
    "them lacks parallelism, are ours.",
    "Speed is cores^theta, with one theta for each application, fitted on Table 4 at x1.0 and x1.4.",
    "Stages follow one another: no application here has parallel stages.",
    "Storage, network and memory limit nothing. The 3.6 % that off-heap memory costs is left out, but for the factor "
    "of 1.10 on the work of Benchmark 2.",
    "Executors start at once. A quota is in force 0.3 s after its decision.",
    "Figures 4, 8, 9 and 10 are pictures without numbers, and TPC-H has none: neither is judged.",
)
ABOUT = (
    "It repeats Baresi, Guinea, Leva and Quattrocchi on fine-grained dynamic resource allocation (xSpark) in a model "
    "of stages, with the planner, the controllers, the supervisor and the quota policies of Fawkes. The rules of the "
    "verdicts were committed before the runs; the model had defects that the first run showed, and they were repaired "
    "then (see the decision record on CPU quotas). Errors are in percent of the deadline; positive is early."
)
CHAPTER = Chapter(
    name="quota",
    command="fawkes paper --chapter quota",
    title="CPU quotas: deadlines of Spark applications",
    experiments=(EXACT, ALONE, SKEW, TOGETHER, NODES),
    gaps=GAPS,
    about=ABOUT,
    seeds=fixed.SEEDS,
    models=MODELS,
    study=QuotaStudy,
    play=play,
    label=lambda case: str(case.arrivals[0].app),
)
make, missing = CHAPTER.make, CHAPTER.missing
