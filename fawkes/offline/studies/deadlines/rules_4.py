"""The rules of the deadline chapter on chapter 4 of the dissertation (PYTHIA), fixed before its runs."""

from __future__ import annotations

from collections.abc import Iterator

from fawkes.offline.studies.deadlines.rule import FEW_POINTS, POINTS, Check, Rule, largest, near, up_to, up_to_check
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
)
from fawkes.offline.studies.deadlines.study import Study
from fawkes.offline.studies.paper.judging.rules import percent
from fawkes.offline.studies.paper.rows import NotRunError


def chapter_4() -> Iterator[Rule]:
    """All rules, in the order of the chapter."""
    yield from _fixed()
    yield from _variable()
    yield from _waste()
    yield Rule(
        "4-priority",
        "req/TTD and shortest TTD give nearly equal SDR (within 2 points, PYTHIA and Justice)",
        _priority,
        (),
        (),
        "follows from no statement that our models refute: the two orders are compared with each other",
    )


def _fixed() -> Iterator[Rule]:
    fixed = ("Fixed2x",)
    yield Rule(
        "4-fixed-sdr-nodrop",
        "Fixed2x, 2250 CPUs: SDR of PYTHIA +295 % over NoDrop FS (half to twice)",
        up_to_check("sdr", fixed, TR1_SMALL, PYTHIA, BASELINE, 2.95),
        ("FS",),
        ("blind", "never-late"),
        "PYTHIA satisfies less than 2.5 or more than 6.9 times as many deadlines",
    )
    yield Rule(
        "4-fixed-sdr-reactive",
        "Fixed2x, 2250 CPUs: SDR of PYTHIA +143 % over Reactive FS (half to twice)",
        up_to_check("sdr", fixed, TR1_SMALL, PYTHIA, REACTIVE, 1.43),
        ("FS",),
        ("no-admission", "never-late"),
        "a gain below 72 % or above 286 %",
    )

    def ptr(study: Study) -> tuple[str, bool]:
        cases = [("TR1", at) for at in TR1_CAPACITIES] + [("TR2", at) for at in TR2_CAPACITIES]
        gains = {
            f"{t} {at}": study.gain("ptr", "Fixed2x", at, PYTHIA, REACTIVE, t) for t, at in cases if _has(study, t, at)
        }
        if not gains:
            raise NotRunError("not run: Fixed2x")
        where, gain = largest(gains)
        return f"{percent(gain)} ({where})", up_to(gain, 0.93)

    yield Rule(
        "4-fixed-ptr-reactive",
        "Fixed2x: PTR of PYTHIA up to +93 % over Reactive FS (half to twice)",
        ptr,
        ("FS",),
        ("no-admission", "never-late"),
        "the largest gain is below 46 % or above 186 %",
    )
    yield Rule(
        "4-fixed-ptr-nodrop",
        "Fixed2x, smallest capacity: PTR of NoDrop FS near 0 (below 5 %)",
        lambda study: _at_most("ptr", study, BASELINE, 0.05),
        ("FS",),
        ("never-late",),
        "NoDrop FS does useful work",
    )
    yield Rule(
        "4-fixed-sdr-nodrop-20",
        "Fixed2x, TR1 constrained: SDR of NoDrop FS about 20 % (10 to 30 %)",
        _about_20,
        ("FS",),
        ("never-late",),
        "NoDrop FS satisfies fewer than 10 % or more than 30 % of the deadlines",
    )

    def oracle(study: Study) -> tuple[str, bool]:
        off = {
            f"{metric.upper()} {at}": study.gain(metric, "Fixed2x", at, PYTHIA, ORACLE)
            for metric in ("sdr", "ptr")
            for at in TR1_CAPACITIES
        }
        where, most = max(off.items(), key=lambda item: abs(item[1]))
        return f"at most {percent(most)} ({where})", abs(most) <= 0.05

    yield Rule(
        "4-fixed-oracle",
        "Fixed2x: SDR and PTR of PYTHIA like those of the Oracle (within 5 %)",
        oracle,
        (),
        ("blind",),
        "PYTHIA is more than 5 % away from the Oracle",
    )

    def alike(study: Study) -> tuple[str, bool]:
        four = (BASELINE, REACTIVE, ORACLE, PYTHIA)
        spread = {
            (metric, at): max(each) - min(each)
            for metric in ("sdr", "ptr")
            for at in (TR1_SMALL, TR1_LARGE)
            for each in [[study.value(metric, "Fixed2x", at, one) for one in four]]
        }
        large = max(spread["sdr", TR1_LARGE], spread["ptr", TR1_LARGE])
        small = min(spread["sdr", TR1_SMALL], spread["ptr", TR1_SMALL])
        return f"{100 * large:.1f} points apart at 15000 CPUs, {100 * small:.1f} at 2250", large <= POINTS < small

    yield Rule(
        "4-unconstrained",
        "unconstrained: all alike in SDR and PTR (at most 5 points apart; constrained, more)",
        alike,
        ("FS",),
        ("all-knowing",),
        "allocators differ without need, or do not differ where CPUs are few",
    )


def _has(study: Study, trace: str, capacity: int) -> bool:
    return any(cell.trace == trace and cell.capacity == capacity and cell.kind == "Fixed2x" for cell in study.all) and (
        trace == "TR1" or not study.few
    )


def _at_most(metric: str, study: Study, allocator: str, most: float) -> tuple[str, bool]:
    value = study.value(metric, "Fixed2x", TR1_SMALL, allocator)
    return f"{100 * value:.1f} %", value <= most


def _about_20(study: Study) -> tuple[str, bool]:
    value = study.value("sdr", "Fixed2x", TR1_SMALL, BASELINE)
    return f"{100 * value:.1f} %", 0.10 <= value <= 0.30


def _variable() -> Iterator[Rule]:
    def oracle(study: Study) -> tuple[str, bool]:
        short = {
            f"{kind} {at}": -study.gain("sdr", kind, at, PYTHIA, ORACLE)
            for kind in OF_CHAPTER_4
            for at in (TR1_SMALL, TR1_MIDDLE)
        }
        where, most = largest(short)
        return f"at most {100 * most:.1f} % below ({where})", most <= 0.05

    yield Rule(
        "4-variable-oracle",
        "variable deadlines: SDR of PYTHIA within 5 % of the Oracle's",
        oracle,
        (),
        ("blind",),
        "PYTHIA satisfies more than 5 % fewer deadlines than the Oracle",
    )
    for capacity, reported in ((TR1_SMALL, 1.77), (TR1_MIDDLE, 0.58)):
        yield Rule(
            f"4-variable-sdr-{capacity}",
            f"variable deadlines, {capacity} CPUs: SDR of PYTHIA up to +{100 * reported:.0f} % over Reactive FS "
            "(half to twice)",
            up_to_check("sdr", OF_CHAPTER_4, capacity, PYTHIA, REACTIVE, reported),
            ("FS",),
            ("no-admission", "never-late"),
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )

    def some(study: Study) -> tuple[str, bool]:
        ahead = [
            f"{kind} {at}"
            for kind in OF_CHAPTER_4
            for at in (TR1_SMALL, TR1_MIDDLE)
            if study.gain("ptr", kind, at, PYTHIA, REACTIVE) > 0
        ]
        return f"ahead for {', '.join(ahead) or 'none'}", 0 < len(ahead) < 2 * len(OF_CHAPTER_4)

    yield Rule(
        "4-variable-ptr",
        "variable deadlines: PTR of PYTHIA beats Reactive FS for some types alone",
        some,
        ("FS",),
        ("no-admission", "blind"),
        "PYTHIA does more useful work for all types, or for none",
    )


def _between(allocator: str, capacity: int, least: float, most: float) -> Check:
    def check(study: Study) -> tuple[str, bool]:
        wasted = [study.value("wtr", kind, capacity, allocator) for kind in OF_CHAPTER_4]
        low, high = min(wasted), max(wasted)
        holds = near(low, least, FEW_POINTS) and near(high, most, FEW_POINTS)
        return f"{100 * low:.1f} to {100 * high:.1f} %", holds

    return check


def _waste() -> Iterator[Rule]:
    for allocator, label, capacity, least, most, model in (
        (REACTIVE, "Reactive", TR1_SMALL, 0.24, 0.30, "never-late"),
        (REACTIVE, "Reactive", TR1_MIDDLE, 0.12, 0.30, "never-late"),
        (BASELINE, "NoDrop", TR1_SMALL, 0.99, 0.99, "never-late"),
        (BASELINE, "NoDrop", TR1_MIDDLE, 0.84, 0.93, "never-late"),
    ):
        yield Rule(
            f"4-waste-{label.lower()}-{capacity}",
            f"variable deadlines, {capacity} CPUs: {label} FS wastes {100 * least:.0f} to {100 * most:.0f} % of the "
            "work (each end within 3 points)",
            _between(allocator, capacity, least, most),
            ("FS",),
            (model,),
            "an end of the range is further away",
        )

    def none(study: Study) -> tuple[str, bool]:
        most = max(study.value("wtr", kind, at, PYTHIA) for kind in KINDS for at in (TR1_SMALL, TR1_MIDDLE))
        return f"at most {100 * most:.2f} %", most < 0.001

    yield Rule(
        "4-waste-pythia",
        "PYTHIA wastes about 0 % for all types and capacities (below 0.1 %)",
        none,
        (),
        ("blind",),
        "jobs that PYTHIA lets in miss their deadlines",
    )


def _priority(study: Study) -> tuple[str, bool]:
    off = {
        f"{name} {kind} {at}": abs(
            study.under({}, study.name, few=True).value("sdr", kind, at, f"{name}[priority=ttd]")
            - study.under({JUSTICE: JUSTICE}, study.name, few=True).value("sdr", kind, at, name)
        )
        for name in (PYTHIA, JUSTICE)
        for kind in OF_CHAPTER_4
        for at in (TR1_SMALL, TR1_MIDDLE)
    }
    where, most = largest(off)
    return f"at most {100 * most:.1f} points ({where})", most <= 0.02
