"""The model of Hadoop that a run takes: the readable one, or the compiled one where that is done sooner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import Model

Engine = Literal["readable", "compiled"]
#: ``auto`` is the one that is done sooner
Choice = Literal["auto", "readable", "compiled"]


@dataclass(slots=True)
class _Process:
    """The tasks of all runs that this process was asked for: small ones add up."""

    tasks: int = 0


_PROCESS = _Process()


def engine_for(choice: Choice, tasks: int) -> Engine:
    """The engine for a run of so many tasks, after all that this process has run."""
    if choice != "auto":
        return choice
    from fawkes.sim.hadoop.compiled.kept import is_kept, is_loaded, pays

    _PROCESS.tasks += tasks
    return "compiled" if pays(_PROCESS.tasks, loaded=is_loaded(), kept=is_kept) else "readable"


def compile_now() -> None:
    """See to it that the compiled model is on disk, for processes to come; it takes 15 s where it is not."""
    from fawkes.sim.hadoop.compiled.kept import entrance, is_kept

    if not is_kept():
        entrance()


def model_of(
    engine: Engine,
    constants: Constants,
    *,
    seed: int = 0,
    now_us: int = 0,
    keep_events: bool = False,
    check: bool = False,
) -> Model:
    """A model without MR-clusters. The compiled one is loaded here: that takes time and memory.

    ``check`` looks for broken laws of conservation after each event of a task: only the readable one can.
    """
    if engine == "compiled" and not check:
        from fawkes.sim.hadoop.compiled.model import CompiledModel

        return CompiledModel(constants, seed=seed, now_us=now_us, keep_events=keep_events)
    from fawkes.sim.hadoop.readable import ReadableModel

    return ReadableModel(constants, seed=seed, now_us=now_us, keep_events=keep_events, check=check)
