"""An experiment of the paper: its runs, its statements with all that is known of each, its rules and its exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import PaperRows
from fawkes.offline.studies.paper.runs import PaperRun
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.report.pictures.course import Course
from fawkes.report.pictures.panels import course_over_time

Judged = tuple[str, str, bool]
"""The name of a statement, what came out, and whether its rule holds."""

ONE = (
    f"One MR-cluster of {fixed.MICRO_NODES} nodes, inputs of Table 1, {fixed.REDUCES_PER_NODE} reduces a node. Tasks "
    f"differ by chance: means over seeds {', '.join(map(str, fixed.CHANCES))}, each against its own. "
)
"""How section 6 is run."""
REPLAYED = (
    f"Preset paper (tau = 10, raw discrimination, no damping), {fixed.MIN_NODES} core nodes each, seed {fixed.SEED}; "
    "medians over the replays that were run, the first as drawn, the others perturbed. Slowdown: response over the "
    "execution alone on 10 core nodes. "
)
"""How section 7 is run."""
NO_MOVES, EQUAL = "idle-policies", "equal-policies"
"""Refuting models of most statements about policies."""


@dataclass(frozen=True, slots=True)
class PaperReason:
    """A reason why a verdict differs: a claim with a check that runs before it is printed.

    The check looks at rows, often of a changed ``model`` in which the alleged cause is absent and in which ``runs`` are
    made. It answers with the figures that bear the claim out, or with None when they do not: then the claim is not
    printed.
    """

    claim: str
    check: Callable[[PaperRows], str | None]
    model: str = ""
    runs: tuple[PaperRun, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A statement of the paper in our words. ``refuted_by`` is the outcome that would refute it.

    ``models`` are those in which that is shown. Without models ``refuted_by`` says from what the statement follows:
    its verdict is "cannot fail", never "reproduced".
    """

    name: str
    published: str
    refuted_by: str
    models: tuple[str, ...] = ()
    reasons: tuple[PaperReason, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperExperiment:
    """``rules`` judge the statements, NotRunError where their runs were not made.

    ``runs`` are all runs in the model as it is, ``quick`` those that take less than a minute. ``swept`` are made again
    with each constant halved and doubled, ``refuting`` in the models that refute, ``ranged`` over the range of what the
    paper does not say (``fixed.RANGES``).
    """

    section: str
    name: str
    title: str
    rules: Callable[[PaperRows], Iterator[Judged]]
    _: KW_ONLY
    statements: tuple[PaperClaim, ...]
    runs: tuple[PaperRun, ...] = ()
    quick: tuple[PaperRun, ...] = ()
    swept: tuple[PaperRun, ...] = ()
    refuting: tuple[PaperRun, ...] = ()
    ranged: tuple[PaperRun, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()


def course(workload: str, policy: str, growth: str) -> Exhibit:
    """Nodes, queues and discrimination over time in replay 0; the frame beside it has a row for each point."""
    title = f"{workload} under {policy} with {growth}"

    def first(rows: PaperRows) -> Course:
        return Course(**rows.replays(workload, policy, growth)[0]["course"])

    return Exhibit(
        f"7-{workload.lower()}-{policy.lower()}-{growth.lower()}-over-time",
        f"7 {title}, over time",
        "Replay 0. Points as CSV and Parquet.",
        (),
        lambda rows: first(rows).frame(),
        draw_rows=lambda rows: course_over_time(first(rows), title),
    )
