"""The rules of the deadline chapter, fixed before its runs: chapters 4 (PYTHIA) and 5 (Justice), the follow-up paper.

A row has the name, the statement with our reading in brackets, the check (a quantity and its bound), the open readings
that it depends on, the models in which it must not hold, and what would refute it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fawkes.offline.studies.deadlines import checks
from fawkes.offline.studies.deadlines.checks import (
    Check,
    at_least,
    at_most,
    below,
    below_and_near,
    between,
    cases,
    ends,
    everywhere,
    gain,
    half_to_twice,
    idle,
    largest,
    loss,
    near,
    reached,
    smallest,
    somewhere,
    up_to,
    value,
)
from fawkes.offline.studies.deadlines.runs import (
    BASELINE,
    JUSTICE,
    KINDS,
    OF_CHAPTER_4,
    ORACLE,
    PYTHIA,
    REACTIVE,
    TR1_MIDDLE,
    TR1_SMALL,
    TR2_MIDDLE,
    TR2_SMALL,
)
from fawkes.offline.studies.deadlines.study import FS
from fawkes.offline.studies.flat.deadlines import VARIABLE
from fawkes.offline.studies.shared.verdicts import percent


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement and its check. ``axes``: open readings it depends on. ``models``: where the check must not hold."""

    name: str
    published: str
    check: Check
    axes: tuple[str, ...]
    models: tuple[str, ...]
    refuted_by: str

    @property
    def section(self) -> str:
        """The chapter, or P2 for the follow-up paper."""
        return self.name.partition("-")[0]


POINTS, FEW_POINTS, PTR_POINTS = 0.05, 0.03, 0.15
"""Bands around a reported part: of most figures, of the ends of a range, and of differences in useful work."""
_FIXED, _FOUR = cases(("Fixed2x",), TR1_SMALL), cases(OF_CHAPTER_4)
_SMALL, _MIDDLE = cases(KINDS, TR1_SMALL), cases(KINDS, TR1_MIDDLE)
_ARIA = cases(("Aria1x3x",), TR1_SMALL)
_FS, _JUSTICE, _BOTH = (FS,), (JUSTICE,), (JUSTICE, FS)
_FAIR, _USEFUL, _LATE = ("no-admission", "blind"), ("no-admission", "never-late"), ("blind", "never-late")


def rules() -> Iterator[Rule]:
    """All rules on runs, in the order of the chapters."""
    yield from _chapter_4()
    yield from _fairness()
    yield from _deadlines_met()
    yield from _work()
    yield from _idle_times()
    yield from _follow_up()


def _chapter_4() -> Iterator[Rule]:
    yield from (
        Rule("4-fixed-sdr-nodrop", "Fixed2x, 2250 CPUs: SDR of PYTHIA +295 % over NoDrop FS (half to twice)",
             up_to("sdr", PYTHIA, BASELINE, _FIXED, 2.95), _FS, _LATE,
             "PYTHIA satisfies less than 2.5 or more than 6.9 times as many deadlines"),
        Rule("4-fixed-sdr-reactive", "Fixed2x, 2250 CPUs: SDR of PYTHIA +143 % over Reactive FS (half to twice)",
             up_to("sdr", PYTHIA, REACTIVE, _FIXED, 1.43), _FS, _USEFUL, "a gain below 72 % or above 286 %"),
        Rule("4-fixed-ptr-reactive", "Fixed2x: PTR of PYTHIA up to +93 % over Reactive FS (half to twice)",
             checks.useful_anywhere, _FS, _USEFUL, "the largest gain is below 46 % or above 186 %"),
        Rule("4-fixed-ptr-nodrop", "Fixed2x, smallest capacity: PTR of NoDrop FS near 0 (below 5 %)",
             largest(value("ptr", BASELINE, _FIXED), at_most(0.05), "{:.1f} %"), _FS, ("never-late",),
             "NoDrop FS does useful work"),
        Rule("4-fixed-sdr-nodrop-20", "Fixed2x, TR1 constrained: SDR of NoDrop FS about 20 % (10 to 30 %)",
             largest(value("sdr", BASELINE, _FIXED), between(0.10, 0.30), "{:.1f} %"), _FS, ("never-late",),
             "NoDrop FS satisfies fewer than 10 % or more than 30 % of the deadlines"),
        Rule("4-fixed-oracle", "Fixed2x: SDR and PTR of PYTHIA like those of the Oracle (within 5 %)",
             checks.like_oracle, (), ("blind",), "PYTHIA is more than 5 % away from the Oracle"),
        Rule("4-unconstrained",
             "unconstrained: all alike in SDR and PTR (at most 5 points apart; constrained, more)",
             checks.alike, _FS, ("all-knowing",),
             "allocators differ without need, or do not differ where CPUs are few"),
        Rule("4-variable-oracle", "variable deadlines: SDR of PYTHIA within 5 % of the Oracle's",
             largest(loss("sdr", PYTHIA, ORACLE, _FOUR), at_most(0.05), "at most {:.1f} % below ({})"), (), ("blind",),
             "PYTHIA satisfies more than 5 % fewer deadlines than the Oracle"),
    )  # fmt: skip
    for capacity, reported in ((TR1_SMALL, 1.77), (TR1_MIDDLE, 0.58)):
        yield Rule(
            f"4-variable-sdr-{capacity}",
            f"variable deadlines, {capacity} CPUs: SDR of PYTHIA up to +{100 * reported:.0f} % over Reactive FS "
            "(half to twice)",
            up_to("sdr", PYTHIA, REACTIVE, cases(OF_CHAPTER_4, capacity), reported), _FS, _USEFUL,
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )  # fmt: skip
    yield Rule(
        "4-variable-ptr", "variable deadlines: PTR of PYTHIA beats Reactive FS for some types alone",
        somewhere(_FOUR, lambda study, case: study.gain("ptr", case.kind, case.capacity, PYTHIA, REACTIVE) > 0,
                  "ahead for {}", most=len(_FOUR) - 1),
        _FS, _FAIR, "PYTHIA does more useful work for all types, or for none",
    )  # fmt: skip
    for allocator, label, capacity, least, most in (
        (REACTIVE, "Reactive", TR1_SMALL, 0.24, 0.30),
        (REACTIVE, "Reactive", TR1_MIDDLE, 0.12, 0.30),
        (BASELINE, "NoDrop", TR1_SMALL, 0.99, 0.99),
        (BASELINE, "NoDrop", TR1_MIDDLE, 0.84, 0.93),
    ):
        yield Rule(
            f"4-waste-{label.lower()}-{capacity}",
            f"variable deadlines, {capacity} CPUs: {label} FS wastes {100 * least:.0f} to {100 * most:.0f} % of the "
            "work (each end within 3 points)",
            ends(value("wtr", allocator, cases(OF_CHAPTER_4, capacity)), near(least, FEW_POINTS),
                 near(most, FEW_POINTS), "{:.1f} to {:.1f} %"),
            _FS, ("never-late",), "an end of the range is further away",
        )  # fmt: skip
    yield from (
        Rule("4-waste-pythia", "PYTHIA wastes about 0 % for all types and capacities (below 0.1 %)",
             largest(value("wtr", PYTHIA, cases()), below(0.001), "at most {:.2f} %"), (), ("blind",),
             "jobs that PYTHIA lets in miss their deadlines"),
        Rule("4-priority", "req/TTD and shortest TTD give nearly equal SDR (within 2 points, PYTHIA and Justice)",
             checks.by_time_left, (), (),
             "follows from no statement that our models refute: the two orders are compared with each other"),
    )  # fmt: skip


def _fairness() -> Iterator[Rule]:
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        yield Rule(
            f"5-fairness-{capacity}",
            f"{capacity} CPUs: Justice is fairer than both fair shares in every case, Welch p < 0.01 to Reactive FS",
            everywhere(cases(KINDS, capacity), checks.less_fair_than_shares, between="; "), _BOTH, _FAIR,
            "a fair share is as fair for some type",
        )  # fmt: skip
    yield from (
        Rule("5-fairness-oracle", "variable deadlines: Justice is fairer than the Oracle",
             everywhere(cases(VARIABLE), checks.less_fair_than_oracle, "for all variable types", "; "), _JUSTICE,
             ("no-admission", "all-knowing"), "the Oracle is as fair for some variable type"),
        Rule("5-fairness-below-1", "Justice's fairness is below 1 (and above one half)",
             ends(value("fairness", JUSTICE, cases()), lambda least: least > 0.5, below(1), "{:.3f} to {:.3f}", 1.0),
             _JUSTICE, ("blind",), "a fairness of 1, or one that is closer to nothing"),
    )  # fmt: skip
    for capacity, reported in ((TR1_SMALL, 0.23), (TR1_MIDDLE, 0.17)):
        yield Rule(
            f"5-equality-{capacity}",
            f"{capacity} CPUs: Justice's equality is up to {100 * reported:.0f} % above Reactive FS (half to twice)",
            up_to("equality", JUSTICE, REACTIVE, cases(KINDS, capacity), reported), _BOTH, _FAIR,
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )  # fmt: skip
    yield Rule(
        "5-equality-closer",
        "Reactive FS is closer to Justice in equality than in fairness (mean over types, 2250 CPUs)",
        checks.closer, _BOTH, ("no-admission",), "the mean gain in equality is as large as that in fairness",
    )  # fmt: skip


def _deadlines_met() -> Iterator[Rule]:
    yield from (
        Rule("5-sdr-baseline", "SDR of Justice at least +88 % over Baseline FS",
             smallest(gain("sdr", JUSTICE, BASELINE, cases()), at_least(0.88)), _BOTH, _LATE,
             "a gain below 88 % for some type and capacity"),
        Rule("5-sdr-reactive-2250", "2250 CPUs: SDR of Justice +83 to +207 % over Reactive FS (each end half to twice)",
             ends(gain("sdr", JUSTICE, REACTIVE, _SMALL), half_to_twice(0.83), half_to_twice(2.07),
                  "{:+.0f} % to {:+.0f} %"),
             _BOTH, _USEFUL, "an end of the range is further away"),
    )  # fmt: skip
    for kind, reported in (("Jockey1x2x", 0.44), ("Aria1x3x", 0.33)):
        yield Rule(
            f"5-sdr-{kind}",
            f"4500 CPUs, {kind}: SDR of Justice +{100 * reported:.0f} % over Reactive FS (20 to 60 %)",
            largest(gain("sdr", JUSTICE, REACTIVE, cases((kind,), TR1_MIDDLE)), between(0.20, 0.60), "{:+.0f} %"),
            _BOTH, _USEFUL, "a gain outside of 20 to 60 %",
        )  # fmt: skip
    yield Rule(
        "5-sdr-oracle", "SDR of Justice is similar to the Oracle's (at most 10 % less)",
        smallest(gain("sdr", JUSTICE, ORACLE, cases()), at_least(-0.10), "at worst {:+.0f} % ({})"), _JUSTICE, _FAIR,
        "Justice satisfies over 10 % fewer deadlines for some type",
    )  # fmt: skip


def _work() -> Iterator[Rule]:
    yield from (
        Rule("5-ptr-2250-reactive", "2250 CPUs: PTR of Justice up to +221 % over Reactive FS (half to twice)",
             up_to("ptr", JUSTICE, REACTIVE, _SMALL, 2.21), _BOTH, _USEFUL,
             "the largest gain is below 110 % or above 442 %"),
        Rule("5-ptr-2250-oracle", "2250 CPUs: PTR of Justice up to 33 % below the Oracle's (half to twice)",
             largest(loss("ptr", JUSTICE, ORACLE, _SMALL), half_to_twice(0.33), "{:.0f} % below ({})"), _JUSTICE,
             ("all-knowing", "blind"), "at worst less than 16 % or more than 66 % below"),
        Rule("5-ptr-2250-baseline", "2250 CPUs: PTR of Baseline FS is very small (below 5 %)",
             largest(value("ptr", BASELINE, _SMALL), below(0.05), "at most {:.1f} %"), _FS, ("never-late",),
             "Baseline FS does useful work"),
        Rule("5-wtr-2250", "2250 CPUs: WTR of Justice up to 100 % below Reactive FS (at least 99 %)",
             largest(loss("wtr", JUSTICE, REACTIVE, _SMALL), at_least(0.99), "{:.1f} % below ({})"), _BOTH, _FAIR,
             "Justice wastes work for all types"),
    )  # fmt: skip
    for kind, reported in (("Fixed1x", 9.26), ("Aria2x4x", 1.46)):
        yield Rule(
            f"5-ptr-4500-baseline-{kind}",
            f"4500 CPUs, {kind}: PTR of Justice +{100 * reported:.0f} % over Baseline FS (half to twice)",
            up_to("ptr", JUSTICE, BASELINE, cases((kind,), TR1_MIDDLE), reported), _BOTH, _LATE,
            f"a gain below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )  # fmt: skip
    yield from (
        Rule("5-ptr-4500-baseline-order", "4500 CPUs: that gain is largest for Fixed1x and smallest for Aria2x4x",
             checks.order, _BOTH, _LATE, "another type has the largest or the smallest gain"),
        Rule("5-ptr-4500-fixed",
             "4500 CPUs, Fixed and 90loose: PTR of Justice up to +72 % over Reactive FS (half to twice), like the "
             "Oracle's (within 10 %)",
             checks.fixed_and_loose, _BOTH, _USEFUL, "a largest gain outside of 36 to 144 %, or far from the Oracle"),
    )  # fmt: skip
    for kind, reported in (("Jockey1x2x", -0.14), ("Aria1x3x", -0.44)):
        yield Rule(
            f"5-ptr-4500-{kind}",
            f"4500 CPUs, {kind}: PTR of Justice {percent(reported)} against Reactive FS (less, within 15 points)",
            largest(gain("ptr", JUSTICE, REACTIVE, cases((kind,), TR1_MIDDLE)), below_and_near(reported, PTR_POINTS),
                    "{:+.0f} %"),
            _BOTH, _USEFUL, "as much useful work, or over 15 points away",
        )  # fmt: skip
    yield from (
        Rule("5-utilisation-2250", "2250 CPUs: Justice uses the pool less than both fair shares",
             checks.uses_less, _BOTH, _FAIR, "as many busy CPUs for some type"),
        Rule("5-more-with-less-2250", "2250 CPUs: with that, more useful and less wasted work than Reactive FS",
             everywhere(_SMALL, checks.not_more_with_less), _BOTH, _FAIR,
             "less useful or more wasted work for some type"),
    )  # fmt: skip


def _idle_times() -> Iterator[Rule]:
    beginning = f"{TR1_SMALL} CPUs, Aria1x3x:"
    for size, exists, longer in ((10, 0.98, (0.81, 0.68, 0.59)), (100, 0.76, (0.80, 0.52, 0.41))):
        yield Rule(
            f"5-idle-{size}", f"{beginning} {size} CPUs idle at once {100 * exists:.0f} % of the time (5 points)",
            largest(idle(JUSTICE, size, _ARIA), near(exists, POINTS), "{:.0f} %"), _JUSTICE, _FAIR,
            "more than 5 points away",
        )  # fmt: skip
        for seconds, reported in zip((100, 500, 1000), longer, strict=True):
            yield Rule(
                f"5-idle-{size}-{seconds}s",
                f"{beginning} {100 * reported:.0f} % of idle times of {size} CPUs above {seconds} s (5 points)",
                largest(idle(JUSTICE, size, _ARIA, seconds), near(reported, POINTS), "{:.0f} %"), _JUSTICE, _FAIR,
            "more than 5 points away",
            )  # fmt: skip
    yield Rule(
        "5-idle-order", "types with lower utilisation have longer idle times (rank correlation below 0)",
        checks.longer_where_less_used, _JUSTICE, ("blind",), "the correlation is not negative",
    )  # fmt: skip


def _follow_up() -> Iterator[Rule]:
    yield Rule(
        "5-tr2", "TR2's results are better than TR1's (SDR at the smaller capacity, each type)",
        everywhere(cases(KINDS, TR2_SMALL), checks.no_better_on_tr2), _JUSTICE, _FAIR,
        "some type satisfies fewer deadlines on TR2",
    )  # fmt: skip
    for capacity, reported in ((TR2_SMALL, 0.23), (TR2_MIDDLE, 0.17)):
        yield Rule(
            f"P2-equality-{capacity}",
            f"TR2, {capacity} CPUs: Justice's equality up to {100 * reported:.0f} % above Reactive FS (half to twice)",
            up_to("equality", JUSTICE, REACTIVE, cases(KINDS, capacity, trace="TR2"), reported), _JUSTICE, _FAIR,
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )  # fmt: skip
    yield from (
        Rule("P2-sdr-80", "TR2: Justice reaches 80 % of the Oracle's SDR",
             smallest(reached("sdr", JUSTICE, ORACLE, cases(KINDS, TR2_SMALL, TR2_MIDDLE, trace="TR2")), at_least(0.80),
                      "at least {:.0f} % ({})"),
             _JUSTICE, _FAIR, "less than 80 % for some type and capacity"),
        Rule("P2-ptr-5000",
             "TR2, 5000 CPUs, variable deadlines: fair share may do more useful work and use more CPUs",
             somewhere(cases(VARIABLE, TR2_MIDDLE, trace="TR2"), checks.shares_ahead, "for {}"), _JUSTICE, _USEFUL,
             "for no variable type"),
    )  # fmt: skip
