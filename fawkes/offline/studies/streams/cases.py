"""Cases of the chapter: a load, how the stream changes its size, the batch jobs beside it, and models that refute."""

from __future__ import annotations

from dataclasses import dataclass

from fawkes.offline.studies.streams import fixed

LOADS = {"step": fixed.STEP, "alternating": fixed.ALTERNATING, "longer": fixed.LONGER}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamModel:
    """Differences of a refuting model.

    ``restart_s``: seconds of a restart. ``stop``: an elastic rescale is a restart too. ``lend``: batch jobs get idle
    cores. ``reclaim``: the stream gets its own back. ``lossy``: a killed task loses its progress. ``freeze``: tasks
    that are saved stop when they are chosen, not when their dump ends. ``promised``: cores of the batch jobs.
    """

    restart_s: int = fixed.RESTART_S
    stop: bool = False
    lend: bool = True
    reclaim: bool = True
    lossy: bool = True
    freeze: bool = False
    promised: int = fixed.BATCH_CORES


MODELS = {
    "": StreamModel(),
    "instant": StreamModel(restart_s=0),
    "stop": StreamModel(stop=True),
    "own-only": StreamModel(lend=False),
    "keeps": StreamModel(reclaim=False),
    "lossless": StreamModel(lossy=False, freeze=True),
    "no-share": StreamModel(promised=0),
    "modulo": StreamModel(),
    "one-node": StreamModel(),
}
"""The model as it is (""), and those that refute, by name. The last two change rules without runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCase:
    """One run. ``mode``: elastic, default (grows by a restart and never shrinks) or peak (always its largest size).

    ``batch`` is the preemption policy of the batch jobs; "" is a stream without batch jobs.
    """

    mode: str
    batch: str = ""
    load: str = "step"
    seed: int = fixed.SEEDS[0]
    model: str = ""
