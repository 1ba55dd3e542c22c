"""The chapter on preemption: its cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS
from fawkes.offline.studies.preemption.experiments.energy import ENERGY
from fawkes.offline.studies.preemption.experiments.experiment import PreemptionStudy
from fawkes.offline.studies.preemption.experiments.google import GOOGLE
from fawkes.offline.studies.preemption.experiments.rig import RIG
from fawkes.offline.studies.preemption.experiments.trap import TRAP
from fawkes.offline.studies.preemption.experiments.yarn import YARN
from fawkes.offline.studies.preemption.play import play
from fawkes.offline.studies.shared.chapter import Chapter

GAPS = (
    "The thesis has no task lengths, arrivals or shares of important jobs. Both workloads are ours.",
    "A restore takes as long as a full dump on the same medium. CPU, network and HDFS limit nothing else.",
    "Tasks run until their dump begins. A dump that has begun is never interrupted.",
    "A task changes 10 % of its memory in 60 s, whatever it does.",
    "Suspended and killed tasks return to the queue at the place of their job.",
    "NVM wastes less here than in the thesis, where 9.2 % of capacity have no explanation; so its level is not judged.",
    "Forced kills after a timeout, failed dumps and full stores do not happen here.",
    "The PARSEC programs, distributions of response times and elastic Storm are left out.",
)
ABOUT = (
    "It repeats chapter 3 of Jack Li's thesis on resource sharing in a model of slots and devices, with the deciding "
    "and the preemption policies of Fawkes. `checkpoint` is the thesis's basic policy. The rules of the verdicts were "
    "committed before the runs."
)
CHAPTER = Chapter(
    name="preemption",
    command="fawkes paper --chapter preemption",
    title="Preemption by checkpoints",
    experiments=(RIG, YARN, GOOGLE, ENERGY, TRAP),
    gaps=GAPS,
    about=ABOUT,
    seeds=fixed.SEEDS,
    models=MODELS,
    study=PreemptionStudy,
    play=play,
    label=lambda case: f"{case.workload} {case.policy}",
)
make, missing = CHAPTER.make, CHAPTER.missing
