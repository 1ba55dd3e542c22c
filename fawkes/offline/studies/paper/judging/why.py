"""Why a verdict differs: claims, each with a check that runs before it is printed.

A check looks at rows, often of a changed model in which the alleged cause is absent. It answers with the figures that
bear the claim out, or with None when they do not. A claim that is not borne out is not printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments.macro_rules import points_of
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.judging.rules import line_fit, percent, slope
from fawkes.offline.studies.paper.rows import NotRunError, Rows, apart, makespan_s, mean_slowdown, of_cluster
from fawkes.offline.studies.paper.runs import BUSY_APPS, ROLES, Run

UNKNOWN = "not known why."

Check = Callable[[Rows], str | None]


@dataclass(frozen=True, slots=True)
class Reason:
    """``claim`` is printed with the figures of its check. ``model`` is the changed model in which ``runs`` are made."""

    claim: str
    check: Check
    model: str = ""
    runs: tuple[Run, ...] = ()


def why(name: str, rows: Rows) -> str:
    """The reasons for a verdict that are borne out, or "not known why"."""
    found = []
    for reason in REASONS.get(name, ()):
        try:
            figures = reason.check(rows)
        except NotRunError:
            continue
        if figures is not None:
            found.append(f"{reason.claim} ({figures}).")
    return " ".join(found) or UNKNOWN


def reason_runs() -> list[Run]:
    """The runs that the checks need beside those of the experiments."""
    reasons = [reason for own in REASONS.values() for reason in own]
    return list(dict.fromkeys(runs.in_model(run, reason.model) for reason in reasons for run in reason.runs))


def _capacity(rows: Rows) -> str | None:
    counts = range(fixed.BUSY_MOST + 1)
    lost = [fixed.MICRO_NODES / (fixed.MICRO_NODES - count) - 1 for count in counts]
    fits = {
        app: line_fit(list(zip(lost, (rows.busy(app, count) for count in counts), strict=True))) for app in BUSY_APPS
    }
    own = line_fit(list(zip(map(float, counts), lost, strict=True)))
    if own >= fixed.LINEAR or min(fits.values()) < fixed.LINEAR:
        return None
    text = ", ".join(f"{app} {fit:.3f}" for app, fit in fits.items())
    return f"R2 of that curve: {text}; R2 of a line through the curve itself: {own:.3f}"


def _busy_chance(rows: Rows) -> str | None:
    most = {app: rows.busy(app, fixed.BUSY_MOST) for app in BUSY_APPS}
    ordered = min(most["ST"], most["WC"]) > max(most["TT"], most["PR"])
    return "means: " + ", ".join(f"{app} {percent(each)}" for app, each in most.items()) if ordered else None


def _slope_chance(rows: Rows) -> str | None:
    fractions = [each for each in runs.TENTHS if each <= fixed.GROW_MOST]
    each = [rows.speedups_each("ST", "TR", fraction) for fraction in fractions]
    bends = []
    for seed in range(len(each[0])):
        points = [(0.0, 1.0), *zip(fractions, (speedups[seed] for speedups in each), strict=True)]
        bends.append(slope(points[-3:]) - slope(points[:3]))
    if min(bends) < 0 < max(bends):
        return "change of the slope by seed: " + ", ".join(f"{bend:+.2f}" for bend in bends)
    return None


def _more_of_c3(rows: Rows) -> str | None:
    _, _, text, holds = points_of(rows.of_model("more-of-c-3").replays("WKLD-A", "JD", "TR")[0])[4]
    return f"with twice the jobs c-3 grows to 60: {text}" if holds else None


def _balanced_in(model: str, workload: str, role: str) -> Check:
    def check(rows: Rows) -> str | None:
        ours = rows.of_model(model).middle(apart, workload, "TD", role)
        return f"{MODELS[model].meaning}: {100 * ours:.0f} % apart" if ours <= fixed.BALANCED else None

    return check


def _any_use_shortens(workload: str) -> Check:
    def check(rows: Rows) -> str | None:
        less = 1 - rows.middle(makespan_s, workload, "EQ") / rows.middle(makespan_s, workload, "None")
        return f"EQ shortens it by {100 * less:.0f} %" if less >= fixed.HELPS else None

    return check


def _any_use_gains(rows: Rows) -> str | None:
    gain = 1 - rows.middle(mean_slowdown, "WKLD-D", "EQ") / rows.middle(mean_slowdown, "WKLD-D", "None")
    return f"EQ gains {percent(gain)} over None" if gain >= fixed.HELPS else None


def _gain_falls(model: str, against: str) -> Check:
    """The check that c-2 of WKLD-D gains more than the paper says, and no more than that in a changed model."""

    def gain(rows: Rows) -> float:
        slow = [rows.middle(of_cluster("c-2", "slowdown"), "WKLD-D", policy) for policy in ("TD", against)]
        return 1 - slow[0] / slow[1]

    def check(rows: Rows) -> str | None:
        ours, changed, most = gain(rows), gain(rows.of_model(model)), fixed.IMPROVES + fixed.IMPROVES_BAND
        return f"{MODELS[model].meaning}: {percent(changed)}" if changed <= most < ours else None

    return check


def _tied_demand(rows: Rows) -> str | None:
    kinds = [("TD", "TC"), ("DD", "TC")]
    if any(rows.ahead(mean_slowdown, "WKLD-D", *pair) for pair in (kinds, kinds[::-1])):
        return None
    slow = [rows.spread(mean_slowdown, "WKLD-D", policy) for policy, _ in kinds]
    return f"TD {slow[0][0]:.2f} to {slow[0][1]:.2f}, DD {slow[1][0]:.2f} to {slow[1][1]:.2f}"


_EQUAL_DATA = "c-3 loads more data than c-2 and begins later, when c-2 has the free nodes already"
_HELD_IDLE = (
    "TD counts the waiting tasks of c-1's many small jobs, which gain little from nodes, so c-1 holds nodes that c-3 "
    "could use"
)
_IDLE_NODES = "Whatever hands out the nodes that None leaves idle shortens the makespan"
_SIZES = "The gain depends on the sizes of c-2's jobs, which the paper does not give"


def _of_balance(name: str) -> Mapping[str, tuple[Reason, ...]]:
    workload = {"WC": "WKLD-B", "ST": "WKLD-C"}[name]
    found: dict[str, tuple[Reason, ...]] = {f"7.2-{name}-makespan": (Reason(_IDLE_NODES, _any_use_shortens(workload)),)}
    for role in ROLES:
        if (name, role) != ("ST", "TR"):
            needed = tuple(runs.replay(workload, "TD", role, number=number) for number in range(fixed.REPLAYS))
            found[f"7.2-{name}-{role}"] = tuple(
                Reason(claim, _balanced_in(model, workload, role), model, needed)
                for claim, model in ((_EQUAL_DATA, "equal-data"), (_HELD_IDLE, "half-of-c-1"))
            )
    return found


REASONS: Mapping[str, tuple[Reason, ...]] = {
    "6.3-sort": (Reason("The bend up to f = 0.5 is within chance: its sign changes from seed to seed", _slope_chance),),
    "6.4-busy-linear": (
        Reason("With k of 20 nodes gone a job takes 20 / (20 - k) times as long, which is no straight line", _capacity),
    ),
    "6.4-busy-order": (Reason("The means are in the paper's order, but the seeds overlap", _busy_chance),),
    "7.1-E": (
        Reason(
            "c-3 has too little work left when c-1 and c-2 have given their nodes back",
            _more_of_c3,
            "more-of-c-3",
            (runs.replay("WKLD-A", "JD", "TR"),),
        ),
    ),
    **_of_balance("WC"),
    **_of_balance("ST"),
    **{
        f"7.3-gain-{against}": (
            Reason(
                _SIZES,
                _gain_falls("few-medium", against),
                "few-medium",
                tuple(runs.policies(names=("TD", against))),
            ),
        )
        for against in ("None", "EQ")
    },
    "7.3-finer": (Reason("TD and DD are tied: tasks and bytes say the same of these jobs", _tied_demand),),
    "7.3-DU-RU": (Reason("Whatever hands out the nodes that None leaves idle gains on it", _any_use_gains),),
    "7.3-E-makespan": (Reason(_IDLE_NODES, _any_use_shortens("WKLD-E")),),
}
"""By the names of the verdicts. One that differs without a reason that is borne out says so on the page."""

GAPS: tuple[str, ...] = (
    "Jobs write one replica: with three, no cost of a seek or of a remote byte gives both figures of 6.1.",
    "Tasks of a job differ by chance (0.165 of the mean), nodes do not; no task straggles.",
    "Input lies on core nodes alone, and copies off a leaving node go to core nodes alone: in 6.4 the nodes that stay "
    "are core nodes. Reading on the leaving node costs its disks nothing.",
    "HDFS looks every 30 s whether nodes have been emptied: all of them at once, where Hadoop 1 takes five at a time.",
)
"""What the model leaves out, as far as these experiments are concerned."""
