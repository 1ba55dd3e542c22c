"""The chapter on elastic streams: its cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from fawkes.offline.studies.shared.chapter import Chapter
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import MODELS
from fawkes.offline.studies.streams.experiments.beside import BESIDE
from fawkes.offline.studies.streams.experiments.experiment import StreamStudy
from fawkes.offline.studies.streams.experiments.hour import HOUR
from fawkes.offline.studies.streams.experiments.rescale import RESCALE
from fawkes.offline.studies.streams.experiments.state import STATE
from fawkes.offline.studies.streams.play import play

GAPS = (
    "The thesis has no rates, sizes of states or queues. All of them are ours.",
    "The stream has two sizes, base and peak, and one queue: operators are not played one by one.",
    "Records are a fluid. Placement changes no rates, and memory and network of the stream are constant.",
    "The default stream grows by a restart and never shrinks, because its scaling is manual.",
    "Watts are half of the highest without work and grow with the use of CPU.",
    "Nothing here was run on Storm, Spark or YARN.",
)
ABOUT = (
    "It repeats chapter 4 of Jack Li's thesis on resource sharing in a model of rates, with the congestion monitor, "
    "the consistent hashing, the placement and the preemption of Fawkes. The rules of the verdicts were committed "
    "before the runs."
)
CHAPTER = Chapter(
    name="streams",
    command="fawkes paper --chapter streams",
    title="Elastic streams",
    experiments=(RESCALE, BESIDE, HOUR, STATE),
    gaps=GAPS,
    about=ABOUT,
    seeds=fixed.SEEDS,
    models=MODELS,
    study=StreamStudy,
    play=play,
    label=lambda case: f"{case.load} {case.mode} {case.batch}",
)
make, missing = CHAPTER.make, CHAPTER.missing
