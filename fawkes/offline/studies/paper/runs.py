"""Single runs and sets of them: what is run for each experiment, and rows that are kept from one call to the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.errors import FawkesError
from fawkes.base.version import PACKAGE
from fawkes.offline.runs.folder import stamp_of, write_json
from fawkes.offline.runs.work import Row, Runner, finish, in_this_process
from fawkes.offline.studies.paper.experiments import macro, micro
from fawkes.offline.studies.paper.judging.fixed import (
    ASSUMED,
    BUSY_MOST,
    CHANCES,
    FACTORS,
    MICRO_NODES,
    NOT_SECTION_6,
    RANGES,
    REPLAYS,
    SECTION_7,
    THIN,
    VARIED,
    Model,
    varied,
)
from fawkes.offline.studies.paper.judging.models import MODELS

Value = str | int | float | bool

APPS = ("WC", "ST", "PR", "KM", "TT", "AH")
DEMAND, USAGE, PERFORMANCE = ("JD", "DD", "TD"), ("PU", "DU", "RU"), ("JS", "JT", "TT")
POLICIES = ("None", "EQ", *DEMAND, *USAGE, *PERFORMANCE)
ROLES = ("TC", "TR")
TENTHS = tuple(number / 10 for number in range(1, 11))
IDLE = (1, 2, 4, 6, 8, 10, 12, 14, 16)
BUSY_APPS = ("ST", "WC", "TT", "PR")
TAUS = (5.0, 10.0, 20.0)
BALANCE = (("None", "TC"), ("EQ", "TC"), ("EQ", "TR"), ("TD", "TC"), ("TD", "TR"))
"""Policies and growth types of WKLD-B and C."""
#: what a run depends on beside its own values
_SOURCES = (
    "core", "sim", "workload", "engine", "config/settings/presets.py", "config/settings/settings.py",
    "offline/scenarios/applications.py", "offline/scenarios/scenario.py", "report/history.py",
    "report/pictures/steps.py", "report/pictures/course.py", "offline/studies/paper/judging/fixed.py",
    "offline/studies/paper/experiments/macro.py", "offline/studies/paper/experiments/micro.py",
    "offline/studies/paper/judging/models.py",
)  # fmt: skip
_ERROR_LETTERS = 400
#: the longest runs begin first, so that the last worker does not begin with one when all others are done; but other
#: replays and the sweep come last, which an interrupted page can do without
_LENGTH = {"WKLD-E": 4, "WKLD-D": 3, "WKLD-C": 2, "WKLD-B": 2, "WKLD-A": 1}


@dataclass(frozen=True, slots=True)
class Run:
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


def application(app: str, core: int, role: str = "", others: int = 0, sites: int = 1, link: float = 1.0) -> Run:
    """An application on one MR-cluster; ``link`` is the part that the link between sites has of its capacity."""
    named: dict[str, Value] = {
        "app": app,
        "core": core,
        "role": role if others else "",
        "others": others,
        "sites": sites,
    }
    return _run("application", **named, **({} if link == 1.0 else {"link": link}))


def on_sites(app: str, link: float = 1.0) -> Run:
    """An application on two sites."""
    return application(app, MICRO_NODES, sites=2, link=link)


def grown(app: str, role: str, fraction: float) -> Run:
    """An application on 20 core nodes and a fraction of them more, of that role."""
    return application(app, MICRO_NODES, role, round(MICRO_NODES * fraction))


def idle(removed: int, together: bool) -> Run:
    """Removing nodes from an MR-cluster without jobs."""
    return _run("idle", removed=removed, together=together)


def busy(app: str, removed: int) -> Run:
    """Removing nodes at the start of a job."""
    return _run("busy", app=app, removed=removed)


def replay(workload: str, policy: str, growth: str = "TC", tau: float = 10.0, number: int = 0) -> Run:
    """A workload under a policy."""
    return _run("replay", workload=workload, policy=policy, growth=growth, tau=tau, replay=number)


def in_model(run: Run, model: str) -> Run:
    """The run that gives the outcome of ``run`` in a changed model; itself when there is no name."""
    instead = MODELS[model].instead if model else None
    if instead is not None:
        return replace(run, values=tuple(instead(dict(run.values)).items()))
    return replace(run, model=model)


def with_factor(run: Run, constant: str, factor: float) -> Run:
    """The run with a constant multiplied."""
    return replace(run, constant=constant, factor=factor)


def _run(kind: str, **values: Value) -> Run:
    return Run(kind, tuple(values.items()))


def execute(run: Run) -> Row:
    """Do it; the row is plain values, ``error`` alone when the run never ends.

    One run that fails must not cost the others, and the page has to say what failed.
    """
    try:
        return _outcome(run)
    except FawkesError as error:
        return {"error": str(error)[:_ERROR_LETTERS]}


def _outcome(run: Run) -> Row:
    model = varied(run.constant, run.factor) if run.constant else MODELS[run.model].model if run.model else Model()
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


# --- what is run for each experiment


def half() -> list[Run]:
    """6.1: half of 20 nodes hold no input."""
    part = MICRO_NODES // 2
    return [
        one
        for app in APPS
        for one in (application(app, MICRO_NODES), *(application(app, part, role, part) for role in ROLES))
    ]


def sites() -> list[Run]:
    """6.2: 20 nodes on one site and on two, with the link and with a thin one."""
    some = (*APPS, "BT")
    alone = [application(app, MICRO_NODES) for app in some]
    return alone + [on_sites(app, link) for app, link in product(some, (1.0, THIN))]


def grow(fractions: Sequence[float] = TENTHS) -> list[Run]:
    """6.3: 20 core nodes and a fraction of them more."""
    more = [grown(*each) for each in product(APPS, ROLES, fractions)]
    return [*(application(app, MICRO_NODES) for app in APPS), *more]


def remove(counts: Sequence[int] = IDLE, steps: int = 1) -> list[Run]:
    """6.4: nodes that leave, without jobs and at the start of one."""
    some = [idle(count, together) for count, together in product(counts, (True, False))]
    return some + [busy(app, count) for app, count in product(BUSY_APPS, range(0, BUSY_MOST + 1, steps))]


def balance(numbers: Iterable[int] = range(REPLAYS)) -> list[Run]:
    """7.1 and 7.2: WKLD-A, B and C."""
    return [
        one
        for number in numbers
        for one in (
            replay("WKLD-A", "JD", "TR", number=number),
            *(replay(name, *kind, number=number) for name in ("WKLD-B", "WKLD-C") for kind in BALANCE),
        )
    ]


def policies(numbers: Iterable[int] = range(REPLAYS), names: Sequence[str] = POLICIES) -> list[Run]:
    """7.3: WKLD-D."""
    return [replay("WKLD-D", name, number=number) for number, name in product(numbers, names)]


def skewed(numbers: Iterable[int] = range(REPLAYS), names: Sequence[str] = ("TD", "EQ", "None")) -> list[Run]:
    """7.3: WKLD-E."""
    return [replay("WKLD-E", name, number=number) for number, name in product(numbers, names)]


def thresholds(numbers: Iterable[int] = range(REPLAYS)) -> list[Run]:
    """5.3: tau."""
    return [
        replay(name, "TD", tau=tau, number=number)
        for number, name, tau in product(numbers, ("WKLD-B", "WKLD-C", "WKLD-D"), TAUS)
    ]


def ranges() -> list[Run]:
    """7.1 and 7.3 again over the ranges of what the paper does not say."""
    again = {"7.1": [replay("WKLD-A", "JD", "TR")], "7.3": [*policies(), *skewed()]}
    return [
        with_factor(run, constant, factor)
        for section, (constant, _, factors) in RANGES.items()
        for factor, run in product(factors, again[section])
    ]


def swept_runs() -> tuple[list[Run], list[Run]]:
    """Runs to make again with a changed constant: section 6 on fewer points, and of section 7 WKLD-A, C and D."""
    six = [*half(), *sites(), *grow((0.1, 0.3, 0.5)), *remove((1, 8, 10, 16), 4)]
    seven = [
        replay("WKLD-A", "JD", "TR"),
        *(replay("WKLD-C", *kind) for kind in BALANCE),
        *policies((0,), ("None", "EQ", "TD")),
    ]
    return list(dict.fromkeys(six)), seven


def sweep() -> list[Run]:
    """Each constant halved and doubled, where it can matter."""
    six, seven = swept_runs()
    return [
        Run(one.kind, one.values, name, factor)
        for name, factor in product((*VARIED, *ASSUMED), FACTORS)
        for one in [*(() if name in NOT_SECTION_6 else six), *(seven if name in SECTION_7 else ())]
    ]


def quick_runs() -> list[Run]:
    """Runs that take less than a minute: the micro-experiments with fewer points, one replay of the macro ones."""
    return [
        *half(),
        *sites(),
        *grow(TENTHS[:5]),
        *remove(),
        *balance((0,)),
        *policies((0,), ("None", "EQ", "TD")),
        *skewed((0,), ("TD",)),
    ]


def experiments() -> list[Run]:
    """All experiments, in the model as it is."""
    return [*half(), *sites(), *grow(), *remove(), *balance(), *policies(), *skewed(), *thresholds()]


# --- rows


class RunFolder:
    """A file for each run, named by what it depends on; half a row is no row."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def row(self, run: Run) -> Row | None:
        """The row of a run; None when it was not made by these sources."""
        found = stamp_of(self._file(run))
        row: Row | None = None if found is None else found["row"]
        return row

    def keep(self, run: Run, row: Row) -> None:
        """Store the row of a run, whole."""
        write_json(self._file(run), {"run": asdict(run), "row": row})

    def missing(self, runs: Iterable[Run]) -> int:
        """How many of these runs it does not have."""
        return sum(self.row(run) is None for run in dict.fromkeys(runs))

    def _file(self, run: Run) -> Path:
        return self.folder / f"{run.key}.json"


def gather(
    runs: Iterable[Run],
    folder: RunFolder,
    *,
    run: Runner = in_this_process,
    say: Callable[[str], None] = lambda text: None,
) -> dict[Run, Row]:
    """The rows of all runs: those that the folder has are read, the others are run and written."""
    wanted = sorted(dict.fromkeys(runs), key=_length, reverse=True)
    return dict(zip(wanted, finish(execute, wanted, folder, run, say), strict=True))


def _length(run: Run) -> tuple[bool, int, int]:
    values: dict[str, Any] = dict(run.values)
    return not run.constant, -values.get("replay", 0), _LENGTH.get(values.get("workload", ""), 0)


@cache
def sources() -> str:
    """A fingerprint of all that decides what comes out of a run: rows of another version are not taken."""
    home, digest = PACKAGE, hashlib.sha256()
    folders = [home / name for name in _SOURCES] + [bundled_dir(Kind.POLICY) / "policies"]
    for path in sorted(file for one in folders for file in ([one] if one.is_file() else one.rglob("*.py"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
