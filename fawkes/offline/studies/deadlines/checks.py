"""Named checks of the deadline chapter: a quantity over cases, and the bound that it has to keep.

Where the dissertation gives one number for one case, the bound is a few points around it. Where it says "up to", ours
is within half and twice the reported gain: the traces are not public, and a twin has neither their bursts nor their
repeated jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fawkes.offline.studies.deadlines.runs import (
    BASELINE,
    JUSTICE,
    KINDS,
    OF_CHAPTER_4,
    ORACLE,
    PYTHIA,
    REACTIVE,
    TR1_CAPACITIES,
    TR1_LARGE,
    TR1_MIDDLE,
    TR1_SMALL,
    TR2_CAPACITIES,
    TR2_SMALL,
)
from fawkes.offline.studies.deadlines.study import DeadlineStudy
from fawkes.offline.studies.shared.verdicts import NotRunError, percent

Check = Callable[[DeadlineStudy], tuple[str, bool]]
"""A rule on the rows: the outcome in words, and whether it holds; NotRunError where its runs were not made."""
Bound = Callable[[float], bool]
Quantity = Callable[[DeadlineStudy], Mapping[str, float]]
"""A value for each case, by the case's label."""


# --- cases


class PoolDeadline(NamedTuple):
    """A deadline type on a pool of a trace; ``label`` is how texts call it."""

    label: str
    kind: str
    capacity: int
    trace: str


def cases(kinds: Sequence[str] = KINDS, *capacities: int, trace: str = "TR1") -> list[PoolDeadline]:
    """All types on all capacities (by default the two smaller ones of TR1); one capacity is left out of labels."""
    some = capacities or (TR1_SMALL, TR1_MIDDLE)
    return [PoolDeadline(kind if len(some) == 1 else f"{kind} {at}", kind, at, trace) for kind in kinds for at in some]


# --- quantities


def gain(metric: str, allocator: str, against: str, over: Sequence[PoolDeadline]) -> Quantity:
    """The part by which a metric is larger under one allocator than under another, as a part."""
    return lambda study: {
        case.label: study.gain(metric, case.kind, case.capacity, allocator, against, case.trace) for case in over
    }


def loss(metric: str, allocator: str, against: str, over: Sequence[PoolDeadline]) -> Quantity:
    """The part by which a metric is smaller under one allocator than under another, as a part."""
    return lambda study: {label: -more for label, more in gain(metric, allocator, against, over)(study).items()}


def value(metric: str, allocator: str, over: Sequence[PoolDeadline]) -> Quantity:
    """A metric under an allocator."""
    return lambda study: {
        case.label: study.value(metric, case.kind, case.capacity, allocator, case.trace) for case in over
    }


def reached(metric: str, allocator: str, against: str, over: Sequence[PoolDeadline]) -> Quantity:
    """The part of another allocator's metric that an allocator reaches."""
    return lambda study: {label: 1 + more for label, more in gain(metric, allocator, against, over)(study).items()}


def idle(allocator: str, size: int, over: Sequence[PoolDeadline], longer_s: int = 0) -> Quantity:
    """The part of time in which so many CPUs are idle at once, or of their idle times above so many seconds."""
    return lambda study: {case.label: study.idle(size, case.kind, case.capacity, allocator, longer_s) for case in over}


# --- bounds


def half_to_twice(reported: float) -> Bound:
    """True for a gain from half to twice the reported one."""
    return lambda ours: reported / 2 <= ours <= reported * 2


def near(reported: float, points: float) -> Bound:
    """True for a part within so many points of the reported one."""
    return lambda ours: abs(ours - reported) <= points


def below_and_near(reported: float, points: float) -> Bound:
    """True for a part below 0 within so many points of the reported one."""
    return lambda ours: ours < 0 and abs(ours - reported) <= points


def between(low: float, high: float) -> Bound:
    """True from ``low`` to ``high``."""
    return lambda ours: low <= ours <= high


def at_least(bound: float) -> Bound:
    """True from the bound on."""
    return lambda ours: ours >= bound


def at_most(bound: float) -> Bound:
    """True up to the bound."""
    return lambda ours: ours <= bound


def below(bound: float) -> Bound:
    """True below the bound."""
    return lambda ours: ours < bound


# --- checks; ``said`` is the form of what came out: the value times 100, and the case's label


def largest(quantity: Quantity, holds: Bound, said: str = "{:+.0f} % ({})") -> Check:
    """A check of the largest value."""
    return _end(max, quantity, holds, said)


def smallest(quantity: Quantity, holds: Bound, said: str = "at least {:+.0f} % ({})") -> Check:
    """A check of the smallest value."""
    return _end(min, quantity, holds, said)


def _end(end: Callable[..., tuple[str, float]], quantity: Quantity, holds: Bound, said: str) -> Check:
    def check(study: DeadlineStudy) -> tuple[str, bool]:
        where, value = end(quantity(study).items(), key=lambda item: item[1])
        return said.format(100 * value, where), holds(value)

    return check


def ends(quantity: Quantity, low_holds: Bound, high_holds: Bound, said: str, scale: float = 100.0) -> Check:
    """A check of both ends of the range of values."""

    def check(study: DeadlineStudy) -> tuple[str, bool]:
        values = quantity(study).values()
        low, high = min(values), max(values)
        return said.format(scale * low, scale * high), low_holds(low) and high_holds(high)

    return check


def up_to(metric: str, allocator: str, against: str, over: Sequence[PoolDeadline], reported: float) -> Check:
    """A check of the largest gain against a reported "up to"."""
    return largest(gain(metric, allocator, against, over), half_to_twice(reported))


def everywhere(
    over: Sequence[PoolDeadline],
    fails: Callable[[DeadlineStudy, PoolDeadline], str],
    said: str = "for all types",
    between: str = ", ",
) -> Check:
    """A check that no case fails; ``fails`` gives the text about a case that does, "" for the others."""

    def check(study: DeadlineStudy) -> tuple[str, bool]:
        behind = [text for case in over if (text := fails(study, case))]
        return f"not for {between.join(behind)}" if behind else said, not behind

    return check


def somewhere(
    over: Sequence[PoolDeadline],
    holds: Callable[[DeadlineStudy, PoolDeadline], bool],
    said: str,
    most: int | None = None,
) -> Check:
    """A check that something holds in some cases, in at most so many where there is a bound."""

    def check(study: DeadlineStudy) -> tuple[str, bool]:
        ahead = [case.label for case in over if holds(study, case)]
        return said.format(", ".join(ahead) or "none"), 0 < len(ahead) <= (len(over) if most is None else most)

    return check


# --- checks of one statement alone; those of one case give its text, "" where they do not apply

_SMALLER = {"TR2": TR2_SMALL, "TR1": TR1_SMALL}


def useful_anywhere(study: DeadlineStudy) -> tuple[str, bool]:
    """The largest gain of PYTHIA in useful work over all capacities of both traces that were run."""
    some = [("TR1", at) for at in TR1_CAPACITIES] + [("TR2", at) for at in TR2_CAPACITIES]
    run = [PoolDeadline(f"{trace} {at}", "Fixed2x", at, trace) for trace, at in some if _has(study, trace, at)]
    if not run:
        raise NotRunError("not run: Fixed2x")
    return up_to("ptr", PYTHIA, REACTIVE, run, 0.93)(study)


def _has(study: DeadlineStudy, trace: str, capacity: int) -> bool:
    return any(cell.trace == trace and cell.capacity == capacity and cell.kind == "Fixed2x" for cell in study.all) and (
        trace == "TR1" or not study.few
    )


def like_oracle(study: DeadlineStudy) -> tuple[str, bool]:
    """The largest difference of PYTHIA from the Oracle in SDR and PTR over the capacities of TR1."""
    off = {
        f"{metric.upper()} {at}": study.gain(metric, "Fixed2x", at, PYTHIA, ORACLE)
        for metric in ("sdr", "ptr")
        for at in TR1_CAPACITIES
    }
    where, most = max(off.items(), key=lambda item: abs(item[1]))
    return f"at most {percent(most)} ({where})", abs(most) <= 0.05


def alike(study: DeadlineStudy) -> tuple[str, bool]:
    """The distance of the four allocators where CPUs are plenty, and where they are few."""
    spread = {
        (metric, at): max(each) - min(each)
        for metric in ("sdr", "ptr")
        for at in (TR1_SMALL, TR1_LARGE)
        for each in [
            [study.value(metric, "Fixed2x", at, allocator) for allocator in (BASELINE, REACTIVE, ORACLE, PYTHIA)]
        ]
    }
    large, small = (pick(spread["sdr", at], spread["ptr", at]) for pick, at in ((max, TR1_LARGE), (min, TR1_SMALL)))
    return f"{100 * large:.1f} points apart at 15000 CPUs, {100 * small:.1f} at 2250", large <= 0.05 < small


def by_time_left(study: DeadlineStudy) -> tuple[str, bool]:
    """The change of SDR by the order of service."""
    few, plain = study.under({}, study.name, few=True), study.under({JUSTICE: JUSTICE}, study.name, few=True)
    off = {
        f"{name} {case.label}": abs(
            few.value("sdr", case.kind, case.capacity, f"{name}[priority=ttd]")
            - plain.value("sdr", case.kind, case.capacity, name)
        )
        for name in (PYTHIA, JUSTICE)
        for case in cases(OF_CHAPTER_4)
    }
    return largest(lambda _: off, at_most(0.02), "at most {:.1f} points ({})")(study)


def less_fair_than_shares(study: DeadlineStudy, case: PoolDeadline) -> str:
    """A type for which Justice is no fairer than a fair share, or Welch's test does not tell them apart."""
    mine = study.value("fairness", case.kind, case.capacity, JUSTICE)
    others = max(study.value("fairness", case.kind, case.capacity, allocator) for allocator in (BASELINE, REACTIVE))
    test = study.fairness_test(case.kind, case.capacity, JUSTICE, REACTIVE)
    behind = mine <= others or test is None or test.p >= 0.01
    return f"{case.kind} {mine:.3f} against {others:.3f}" if behind else ""


def less_fair_than_oracle(study: DeadlineStudy, case: PoolDeadline) -> str:
    """A type for which Justice is no fairer than the Oracle."""
    mine, oracle = (study.value("fairness", case.kind, case.capacity, allocator) for allocator in (JUSTICE, ORACLE))
    return f"{case.label}: {mine:.3f} against {oracle:.3f}" if mine <= oracle else ""


def closer(study: DeadlineStudy) -> tuple[str, bool]:
    """The mean gains in equality and in fairness over Reactive FS."""
    equal, fair = (
        sum(gain(metric, JUSTICE, REACTIVE, cases(KINDS, TR1_SMALL))(study).values()) / len(KINDS)
        for metric in ("equality", "fairness")
    )
    return f"equality {percent(equal)}, fairness {percent(fair)}", abs(equal) < abs(fair)


def order(study: DeadlineStudy) -> tuple[str, bool]:
    """The types with the largest and the smallest gain in useful work over Baseline FS."""
    gains = gain("ptr", JUSTICE, BASELINE, cases(KINDS, TR1_MIDDLE))(study)
    most, least = max(gains, key=lambda kind: gains[kind]), min(gains, key=lambda kind: gains[kind])
    return f"largest for {most}, smallest for {least}", (most, least) == ("Fixed1x", "Aria2x4x")


def fixed_and_loose(study: DeadlineStudy) -> tuple[str, bool]:
    """The largest gain over Reactive FS, and the distance from the Oracle, for fixed and loose deadlines."""
    some = cases(("Fixed1x", "Fixed2x", "90loose"), TR1_MIDDLE)
    text, holds = up_to("ptr", JUSTICE, REACTIVE, some, 0.72)(study)
    off = min(gain("ptr", JUSTICE, ORACLE, some)(study).values())
    return f"{text}; at worst {percent(off)} of the Oracle", holds and off >= -0.10


def uses_less(study: DeadlineStudy) -> tuple[str, bool]:
    """The part of CPUs that is busy under Justice and under Reactive FS; less than both fair shares for each type."""
    used = [
        [study.value("utilisation", kind, TR1_SMALL, allocator) for allocator in (JUSTICE, BASELINE, REACTIVE)]
        for kind in KINDS
    ]
    ours, shares = [mine for mine, _, _ in used], [reactive for _, _, reactive in used]
    text = f"{min(ours):.2f} to {max(ours):.2f} against {min(shares):.2f} to {max(shares):.2f}"
    return text, all(mine < min(others) for mine, *others in used)


def not_more_with_less(study: DeadlineStudy, case: PoolDeadline) -> str:
    """A type for which Justice does no more useful work, or wastes no less, than Reactive FS."""
    more = study.gain("ptr", case.kind, case.capacity, JUSTICE, REACTIVE) > 0
    mine, theirs = (study.value("wtr", case.kind, case.capacity, allocator) for allocator in (JUSTICE, REACTIVE))
    return "" if more and mine < theirs else case.kind


def longer_where_less_used(study: DeadlineStudy) -> tuple[str, bool]:
    """The rank correlation of utilisation and long idle times over the types."""
    from scipy.stats import spearmanr

    used = list(value("utilisation", JUSTICE, cases(KINDS, TR1_SMALL))(study).values())
    long = list(idle(JUSTICE, 10, cases(KINDS, TR1_SMALL), 1000)(study).values())
    if len(set(used)) == 1 or len(set(long)) == 1:
        return "no order: all types are alike", False
    rank = float(spearmanr(used, long).statistic)
    return f"rank correlation {rank:+.2f}", rank < 0


def no_better_on_tr2(study: DeadlineStudy, case: PoolDeadline) -> str:
    """A type with no larger SDR on TR2 than on TR1, each at its smaller capacity."""
    on_tr2, on_tr1 = (study.value("sdr", case.kind, at, JUSTICE, trace) for trace, at in _SMALLER.items())
    return "" if on_tr2 > on_tr1 else case.kind


def shares_ahead(study: DeadlineStudy, case: PoolDeadline) -> bool:
    """True where Reactive FS does more useful work and uses more CPUs than Justice."""
    return all(
        study.gain(metric, case.kind, case.capacity, REACTIVE, JUSTICE, case.trace) > 0
        for metric in ("ptr", "utilisation")
    )
