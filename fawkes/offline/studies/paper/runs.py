"""Single runs, and their rows that are kept from one call to the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.errors import FawkesError
from fawkes.base.version import PACKAGE
from fawkes.offline.runs import code
from fawkes.offline.runs.folder import stamp_of, write_json
from fawkes.offline.runs.work import Row, Runner, finish, in_this_process
from fawkes.offline.studies.paper.experiments import macro, micro
from fawkes.offline.studies.paper.judging.fixed import CHANCES, MICRO_NODES, FixedModel, varied
from fawkes.offline.studies.paper.judging.models import MODELS

Value = str | int | float | bool

APPS = ("WC", "ST", "PR", "KM", "TT", "AH")
ROLES = ("TC", "TR")
SOURCES = (
    *code.SOURCES, "config/settings", "report/pictures/course.py", "offline/studies/paper/runs.py",
    "offline/studies/paper/judging/fixed.py", "offline/studies/paper/judging/models.py",
    "offline/studies/paper/experiments/macro.py", "offline/studies/paper/experiments/micro.py",
)  # fmt: skip
"""The code on which a run depends, beside its own values."""
_ERROR_LETTERS = 400
#: the longest runs begin first, so that the last worker does not begin with one when all others are done; but other
#: replays and the sweep come last, which an interrupted page can do without
_LENGTH = {"WKLD-E": 4, "WKLD-D": 3, "WKLD-C": 2, "WKLD-B": 2, "WKLD-A": 1}


@dataclass(frozen=True, slots=True)
class PaperRun:
    """One run: the same values give the same row.

    ``constant`` is the one that is multiplied by ``factor``, if any. ``model`` is the changed model
    (``models.MODELS``). A run has no more than one of both.
    """

    kind: str
    values: tuple[tuple[str, Value], ...]
    constant: str = ""
    factor: float = 1.0
    model: str = ""

    @property
    def key(self) -> str:
        """The name of its row's file: other values or other sources have another one."""
        return hashlib.sha256(json.dumps([asdict(self), sources()]).encode()).hexdigest()[:20]

    def __str__(self) -> str:
        changed = f", {self.constant} x {self.factor:g}" if self.constant else ""
        changed += f", {self.model}" if self.model else ""
        return " ".join([self.kind, *(str(value) for _, value in self.values)]) + changed


def application(app: str, core: int, role: str = "", others: int = 0, sites: int = 1, link: float = 1.0) -> PaperRun:
    """An application on one MR-cluster; ``link`` is the part that the link between sites has of its capacity."""
    named: dict[str, Value] = {
        "app": app,
        "core": core,
        "role": role if others else "",
        "others": others,
        "sites": sites,
    }
    return run_of("application", **named, **({} if link == 1.0 else {"link": link}))


def plain(app: str) -> PaperRun:
    """An application on 20 core nodes of one site."""
    return application(app, MICRO_NODES)


def replay(workload: str, policy: str, growth: str = "TC", tau: float = 10.0, number: int = 0) -> PaperRun:
    """A workload under a policy."""
    return run_of("replay", workload=workload, policy=policy, growth=growth, tau=tau, replay=number)


def in_model(run: PaperRun, model: str) -> PaperRun:
    """The run that gives the outcome of ``run`` in a changed model; itself when there is no name."""
    instead = MODELS[model].instead if model else None
    if instead is not None:
        return replace(run, values=tuple(instead(dict(run.values)).items()))
    return replace(run, model=model)


def with_factor(run: PaperRun, constant: str, factor: float) -> PaperRun:
    """The run with a constant multiplied."""
    return replace(run, constant=constant, factor=factor)


def run_of(kind: str, **values: Value) -> PaperRun:
    """A run of this kind: ``application``, ``idle``, ``busy`` (section 6) or ``replay`` (section 7)."""
    return PaperRun(kind, tuple(values.items()))


def execute(run: PaperRun) -> Row:
    """Do it; the row is plain values, ``error`` alone when the run never ends.

    One run that fails must not cost the others, and the page has to say what failed.
    """
    try:
        return _outcome(run)
    except FawkesError as error:
        return {"error": str(error)[:_ERROR_LETTERS]}


def _outcome(run: PaperRun) -> Row:
    model = varied(run.constant, run.factor) if run.constant else MODELS[run.model].model if run.model else FixedModel()
    values: dict[str, Any] = dict(run.values)
    # The sweep is on one seed: most of its time would go into the others.
    seeds = CHANCES[:1] if run.constant else CHANCES
    match run.kind:
        case "application":
            return micro.chances(lambda seed: micro.application_s(model, **values, seed=seed), seeds)
        case "idle":
            return micro.removal_idle_s(model, **values)
        case "busy":
            return micro.chances(lambda seed: micro.removal_busy_s(model, **values, seed=seed), seeds)
    return macro.play(macro.Replay(**values), model)


class RunFolder:
    """A file for each run, named by what it depends on; half a row is no row."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def row(self, run: PaperRun) -> Row | None:
        """The row of a run; None when it was not made by these sources."""
        stored = stamp_of(self._file(run))
        row: Row | None = None if stored is None else stored["row"]
        return row

    def keep(self, run: PaperRun, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(run), {"run": asdict(run), "row": row})

    def missing(self, runs: Iterable[PaperRun]) -> int:
        """The number of these runs that it does not have."""
        return sum(self.row(run) is None for run in dict.fromkeys(runs))

    def _file(self, run: PaperRun) -> Path:
        return self.folder / f"{run.key}.json"


def gather(
    runs: Iterable[PaperRun],
    folder: RunFolder,
    *,
    run: Runner = in_this_process,
    say: Callable[[str], None] = lambda text: None,
) -> dict[PaperRun, Row]:
    """The rows of all runs: those that the folder has are read, the others are run and written."""
    wanted = sorted(dict.fromkeys(runs), key=_length, reverse=True)
    return dict(zip(wanted, finish(execute, wanted, folder, run, say), strict=True))


def _length(run: PaperRun) -> tuple[bool, int, int]:
    values: dict[str, Any] = dict(run.values)
    return not run.constant, -values.get("replay", 0), _LENGTH.get(values.get("workload", ""), 0)


@cache
def sources() -> str:
    """A fingerprint of all that decides what comes out of a run: rows of another version are not taken."""
    policies = code.digest_of(bundled_dir(Kind.POLICY), ("policies",))
    return code.digest_of(PACKAGE, SOURCES)[:8] + policies[:8]
